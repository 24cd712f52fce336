# Part of cmake_install.cmake: puts the archive in place, and writes the files with paths of the prefix that `cmake --install` was called
# with. Below /usr Debian has a folder of libraries for each architecture, as GNUInstallDirs has it.
set(splitnic_folder "${splitnic_libraries}")
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr" AND splitnic_folder STREQUAL "lib" AND splitnic_architecture AND EXISTS /etc/debian_version)
  string(APPEND splitnic_folder "/${splitnic_architecture}")
endif()
set(splitnic_package "${CMAKE_INSTALL_PREFIX}/${splitnic_folder}/cmake/splitnic")
file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/${splitnic_folder}" TYPE STATIC_LIBRARY FILES "${splitnic_archive}")
file(INSTALL DESTINATION "${splitnic_package}" TYPE FILE FILES "${splitnic_package_version}")

# The package may be moved as a whole: it finds headers and archive from its own folder.
file(RELATIVE_PATH splitnic_headers_from_package "${splitnic_package}" "${CMAKE_INSTALL_PREFIX}/${splitnic_headers}")
set(splitnic_ipsec_mb_flag)
if(splitnic_ipsec_mb)
  set(splitnic_ipsec_mb_flag " -l${splitnic_ipsec_mb}")
endif()
foreach(name cmake/splitnic/splitnic-config.cmake pkgconfig/splitnic-fabric.pc)
  get_filename_component(template "${name}" NAME)
  set(path "${CMAKE_INSTALL_PREFIX}/${splitnic_folder}/${name}")
  message(STATUS "Installing: $ENV{DESTDIR}${path}")
  configure_file("${splitnic_library_templates}/${template}.in" "$ENV{DESTDIR}${path}" @ONLY)
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${path}")
endforeach()
