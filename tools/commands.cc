#include "tools/commands.h"

#include <cstdio>

#include "control/config/parse_outcome.h"
#include "control/config/values.h"
#include "control/socket/client.h"
#include "control/socket/unix_socket.h"
#include "tools/several_replies.h"

namespace splitnic::tools {

int fail(const std::string& why) {
  const control::Refusal refusal = control::refuse(control::kExitFailed, "splitnic", why);
  std::fputs(refusal.text.c_str(), stderr);
  return refusal.exit_code;
}

int bad_usage(const std::string& why) {
  const control::Refusal refusal = control::refuse(control::kExitUsage, "splitnic", why);
  std::fputs(refusal.text.c_str(), stderr);
  return refusal.exit_code;
}

base::Result<control::Client> connect(const std::string& socket) {
  if (!socket.empty()) {
    return control::Client::connect(control::socket_path(control::kControlFolder, socket));
  }
  const auto found = control::only_socket_in(control::kControlFolder);
  if (!found) return found.error();
  return control::Client::connect(*found);
}

base::Result<std::string> socket_of(const std::string& command, const std::string& node,
                                    const std::string& socket) {
  if (node.empty()) return {boost::system::in_place_value, socket};
  if (!socket.empty()) return base::Error(command + ": give the name or --control, not both");
  if (!control::is_node_name(node)) {
    return base::Error(command + ": '" + node + "' is not the --name of a program");
  }
  return {boost::system::in_place_value, node};
}

namespace {

base::Result<std::string> reply_at(const std::string& path, const control::Request& request) {
  auto client = control::Client::connect(path);
  if (!client) return client.error();
  const auto reply = client->ask(request, kReplyTimeout);
  if (!reply) return reply.error();
  if (reply->status != control::ReplyStatus::kOk) return refusal_of(path, *reply);
  return {boost::system::in_place_value, reply->text};
}

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) != 0) return fail("cannot write to the standard output");
  return control::kExitOk;
}

}  // namespace

int ask_all_and_print(const std::string& socket, const control::Request& request) {
  const auto all = control::sockets_in(control::kControlFolder);
  if (!socket.empty() || all.size() < 2) return ask_and_print(socket, request);
  SeveralReplies replies(request.json);
  for (const std::string& path : all) replies.add(reply_at(path, request));
  return replies.print();
}

int ask_and_print(const std::string& socket, const control::Request& request,
                  base::Duration timeout) {
  auto client = connect(socket);
  if (!client) return fail(client.error().text());
  const auto reply = client->ask(request, timeout);
  if (!reply) return fail(reply.error().text());
  if (reply->status != control::ReplyStatus::kOk) return fail(reply->text);
  return print(reply->text);
}

}  // namespace splitnic::tools
