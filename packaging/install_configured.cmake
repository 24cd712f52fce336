# Part of cmake_install.cmake: writes files with the paths of the prefix that `cmake --install` was called with. The rules for
# the prefix /usr are those of GNUInstallDirs.
set(CMAKE_INSTALL_FULL_BINDIR "${CMAKE_INSTALL_PREFIX}/${splitnic_binaries}")
set(CMAKE_INSTALL_FULL_SYSCONFDIR "${CMAKE_INSTALL_PREFIX}/${splitnic_settings}")
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(CMAKE_INSTALL_FULL_SYSCONFDIR "/${splitnic_settings}")
endif()

function(splitnic_write_configured template folder)
  get_filename_component(name "${template}" NAME)
  string(REGEX REPLACE "\\.in$" "" name "${name}")
  set(path "${CMAKE_INSTALL_PREFIX}/${folder}/${name}")
  file(READ "${splitnic_templates}/${template}" text)
  string(CONFIGURE "${text}" text @ONLY)
  message(STATUS "Installing: $ENV{DESTDIR}${path}")
  file(WRITE "$ENV{DESTDIR}${path}" "${text}")
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${path}")
  set(CMAKE_INSTALL_MANIFEST_FILES "${CMAKE_INSTALL_MANIFEST_FILES}" PARENT_SCOPE)
endfunction()
