// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Glibc
internal import LastroHTTP

extension Poller {
  /// Opens a socket for a connection of libcurl, or returns an invalid one.
  static let openSocket: curl_opensocket_callback = { poller, _, address in
    guard let poller, let address else { return CURL_SOCKET_BAD }
    let socket = clastro_make_socket(address)
    if socket >= 0 { Unmanaged<Poller>.fromOpaque(poller).takeUnretainedValue().keep(socket) }
    return socket
  }

  /// Closes the socket of a connection.
  static let closeSocket: curl_closesocket_callback = { poller, socket in
    if let poller { Unmanaged<Poller>.fromOpaque(poller).takeUnretainedValue().forget(socket) }
    return Glibc.close(socket)
  }
}
