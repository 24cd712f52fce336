"""What the two sides of a connection agree on (channels.md): the capabilities in CONNECT_REQ and CONNECT_REP."""
import frame
import protobuf

RDMA = 1
MSG_MAX = (4096, 65536)                                          # of channels 0 and 1
RECEIVES = 64                                                    # of channel 0 (P-CH-10)
VERSION = 1


class Unsuitable(Exception):
    """A reply that the active side must not take; the text is the reason."""


def own(name):
    return protobuf.encode("Capabilities", {
        "mode": RDMA, "version_lowest": VERSION, "version_highest": VERSION, "msg_max": list(MSG_MAX),
        "idata_form_in": frame.FORM_A, "idata_form_out": 1, "node_name": name.encode()[:64], "queues": 1,
        "program": b"minihost"})


class Terms:
    """What is in force: MSG_MAX of channel 0, and the idata form of each direction (P-CH-5, P-CH-6)."""

    def __init__(self, msg_max, form_in, form_out):
        self.msg_max, self.form_in, self.form_out = msg_max, form_in, form_out


def agree(private):
    """The terms with a peer that sent these capabilities."""
    try:
        peer = protobuf.decode("Capabilities", private)
    except protobuf.ProtobufError as error:
        raise Unsuitable("capabilities do not parse") from error
    if peer.get("mode", 0) != RDMA:
        raise Unsuitable("another mode")                         # P-CH-3
    if not peer.get("version_lowest", 0) <= VERSION <= peer.get("version_highest", 0):
        raise Unsuitable("no common version")
    msg_max = peer.get("msg_max", [])
    if len(msg_max) != 2 or any(not 256 <= m <= 65536 or m % 4 for m in msg_max):
        raise Unsuitable("MSG_MAX")                              # P-CH-4
    if peer.get("channels", 0) != 0:
        raise Unsuitable("another arrangement")                  # P-CH-18
    if peer.get("queues", 0) > 1 or peer.get("queue", 0) != 0:
        raise Unsuitable("more queues than requested")
    if peer.get("context_in", 0) == 1:
        raise Unsuitable("contexts select flows")                # P-CH-21: this host does not place frames by them
    form_in, form_out = peer.get("idata_form_in", 0), peer.get("idata_form_out", 0)
    return Terms(min(MSG_MAX[0], msg_max[0]), frame.form_of(frame.FORM_A, form_out), frame.form_of(form_in, 1))
