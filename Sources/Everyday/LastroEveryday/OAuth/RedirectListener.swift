// SPDX-License-Identifier: Apache-2.0

import Glibc
import HTTPTypes
import Lastro
import LastroSupport

/// Listens on a loopback address until the redirect of a login arrives (RFC 8252 §7.3).
///
/// It runs on a thread of its own. Browsers open connections in advance, so several clients are served at once; one that
/// takes longer than ``patience`` is dropped, and so is the oldest of more than ``mostClients``.
final class RedirectListener: Sendable {
  private struct Client {
    let descriptor: Int32
    let end: ContinuousClock.Instant
    var head: [UInt8] = []
    /// Whether the response was sent. What the client still sends is dropped, so that it can read the response.
    var isAnswered = false
  }

  static let patience = Duration.seconds(5)
  static let mostClients = 16

  /// The port, which the system has chosen if it was 0.
  let port: UInt16
  private let descriptor: Int32
  private let answer = OneAnswer<Result<Secret, OAuth2LoginError>>()
  private let ended = OneAnswer<Void>()

  /// Binds a port of a loopback address.
  ///
  /// - Parameters:
  ///   - isIPv6: whether the address is `::1` instead of `127.0.0.1`.
  ///   - port: the port; 0 for any that is free.
  init(isIPv6: Bool, port: UInt16) throws(ConfigurationError) {
    (descriptor, self.port) = try Self.listener(isIPv6, port)
  }

  private static func listener(_ isIPv6: Bool, _ port: UInt16) throws(ConfigurationError) -> (Int32, UInt16) {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(isIPv6 ? AF_INET6 : AF_INET, kind, 0)
    guard descriptor >= 0 else { throw failure(port, errno) }
    // The port may have been used a moment ago.
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_storage()
    let length = write(port, isIPv6, into: &address)
    var found = length
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 16) == 0 && getsockname(descriptor, $0, &found) == 0
      }
    }
    guard isBound else {
      let code = errno
      Glibc.close(descriptor)
      throw failure(port, code)
    }
    // The port has the same place in both forms of an address.
    let bound = withUnsafeBytes(of: &address) { UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self)) }
    return (descriptor, bound)
  }

  deinit { Glibc.close(descriptor) }

  private static func write(_ port: UInt16, _ isIPv6: Bool, into address: inout sockaddr_storage) -> socklen_t {
    withUnsafeMutablePointer(to: &address) { pointer -> socklen_t in
      if isIPv6 {
        pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
          $0.pointee.sin6_family = sa_family_t(AF_INET6)
          $0.pointee.sin6_port = port.bigEndian
          withUnsafeMutableBytes(of: &$0.pointee.sin6_addr) { $0[15] = 1 }
        }
        return socklen_t(MemoryLayout<sockaddr_in6>.size)
      }
      pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        $0.pointee.sin_family = sa_family_t(AF_INET)
        $0.pointee.sin_port = port.bigEndian
        $0.pointee.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      }
      return socklen_t(MemoryLayout<sockaddr_in>.size)
    }
  }

  private static func failure(_ port: UInt16, _ code: Int32) -> ConfigurationError {
    ConfigurationError(
      "cannot listen on port \(port) of this machine for the redirect: \(String(cString: strerror(code)))",
      hint: "leave the port out of the redirect URL, so that any free one is used, or end the program that uses it")
  }

  /// Starts the thread.
  func start(_ redirect: LoginRedirect) throws(ConfigurationError) {
    let code = DetachedThread.start { [self] in serve(redirect) }
    if code != 0 { throw Self.failure(port, code) }
  }

  /// Waits for the redirect.
  func redirect() async -> Result<Secret, OAuth2LoginError> { await answer.value() }

  /// Closes the port and all connections, and waits until that is done.
  func close() async {
    shutdown(descriptor, Int32(SHUT_RDWR))
    await ended.wait()
  }

  private func serve(_ redirect: LoginRedirect) {
    var clients: [Client] = []
    while !answer.isGiven {
      var polled = ([descriptor] + clients.map(\.descriptor)).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      let rest = clients.map(\.end).min().map { max(.zero, $0 - ContinuousClock.now) }
      _ = poll(&polled, nfds_t(polled.count), rest.map { Int32($0.components.seconds * 1000 + 1000) } ?? -1)
      if Int32(polled[0].revents) & (POLLHUP | POLLERR | POLLNVAL) != 0 { break }
      clients = zip(clients, polled.dropFirst()).compactMap { client, polled in
        polled.revents == 0 ? client : read(client, redirect)
      }
      if Int32(polled[0].revents) & POLLIN != 0 { accept(into: &clients) }
      while let first = clients.first, clients.count > Self.mostClients || first.end <= ContinuousClock.now {
        Glibc.close(first.descriptor)
        clients.removeFirst()
      }
    }
    shutdown(descriptor, Int32(SHUT_RDWR))
    for client in clients { Glibc.close(client.descriptor) }
    // Resumes a task that waits although the login was given up.
    answer.give(.failure(.cancelled))
    ended.give(())
  }

  private func accept(into clients: inout [Client]) {
    let client = Glibc.accept(descriptor, nil, nil)
    if client >= 0 {
      _ = fcntl(client, F_SETFD, FD_CLOEXEC)
      clients.append(Client(descriptor: client, end: ContinuousClock.now + Self.patience))
    } else if errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS {
      // The process may be out of descriptors for a while.
      usleep(100_000)
    }
  }

  /// Reads from a client, and responds to a complete request. Returns `nil` if the client is done.
  private func read(_ client: Client, _ redirect: LoginRedirect) -> Client? {
    var (client, piece) = (client, [UInt8](repeating: 0, count: 4_096))
    let count = recv(client.descriptor, &piece, piece.count, Int32(MSG_DONTWAIT))
    if count < 0, errno == EAGAIN || errno == EINTR { return client }
    guard count > 0 else {
      Glibc.close(client.descriptor)
      return nil
    }
    if client.isAnswered { return client }
    client.head += piece[..<count]
    switch redirect.verdict(on: client.head) {
    case .incomplete: return client
    case .refused(let status):
      respond(to: client, status, "This request does not belong to a login that is in progress.")
    case .accepted(let result):
      let isSuccess = if case .success = result { true } else { false }
      respond(
        to: client, .ok,
        isSuccess
          ? "The program has received the response and continues. You can close this page."
          : "The login has failed. The program shows the reason. You can close this page.")
      answer.give(result)
    }
    client.isAnswered = true
    client.head = []
    return client
  }

  /// Sends a page, which fits into the buffer of a new connection, and ends the connection's output.
  private func respond(to client: Client, _ status: HTTPResponse.Status, _ text: String) {
    let response = Array(
      """
      HTTP/1.1 \(status.code) \(status.reasonPhrase)\r
      Content-Type: text/plain; charset=utf-8\r
      Content-Length: \(text.utf8.count)\r
      \(status == .methodNotAllowed ? "Allow: GET\r\n" : "")Cache-Control: no-store\r
      Referrer-Policy: no-referrer\r
      X-Content-Type-Options: nosniff\r
      Connection: close\r
      \r
      \(text)
      """.utf8)
    // Without the flag, a client that has gone would end the process.
    _ = send(client.descriptor, response, response.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    shutdown(client.descriptor, Int32(SHUT_WR))
  }
}
