// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import LastroSupport

/// Answers each connection to a Unix socket with a snapshot as JSON, in an HTTP/1.1 response.
///
/// It runs on a thread of its own, one connection at a time, so that it costs the stack nothing while nobody asks. A
/// client that takes longer than ``patience`` is dropped, so that it delays the others and the end only so long.
final class SnapshotServer: Sendable {
  /// The time for a client to send its request and to take the response.
  private static let patience = Duration.seconds(2)
  private static let mostRequestBytes = 16 * 1024

  private let path: String
  private let listener: Int32
  private let snapshot: @Sendable () -> StackSnapshot
  let ended = OneAnswer<Void>()

  /// Binds the socket, with mode 0600. A socket that a process has left there is replaced; a socket on which another
  /// process listens is not.
  ///
  /// - Throws: `ConfigurationError`, with the reason of the system.
  init(path: String, _ snapshot: @escaping @Sendable () -> StackSnapshot) throws(ConfigurationError) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let room = MemoryLayout.size(ofValue: address.sun_path) - 1
    guard !path.isEmpty, path.utf8.count <= room, !path.utf8.contains(0) else {
      throw ConfigurationError(
        "the path of a socket has \(path.utf8.count) bytes", hint: "give a path of 1 to \(room) bytes without NUL")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    self.path = path
    self.snapshot = snapshot
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard listener >= 0 else { throw .cannotServe(path, errno) }
    if Self.isLeftover(path, &address) { unlink(path) }
    // The mode is set before the socket has a name, so that it is never open to others.
    let isBound = Self.withAddress(of: &address) { address, length in
      fchmod(listener, 0o600) == 0 && bind(listener, address, length) == 0
    }
    guard isBound else { throw .cannotServe(path, errno) }
    guard chmod(path, 0o600) == 0, listen(listener, 8) == 0 else {
      let code = errno
      unlink(path)
      throw .cannotServe(path, code)
    }
  }

  deinit { if listener >= 0 { close(listener) } }

  /// Returns whether the path is a socket on which nobody listens. Connecting to any other file is refused, too.
  private static func isLeftover(_ path: String, _ address: inout sockaddr_un) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return false }
    let probe = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    defer { close(probe) }
    return withAddress(of: &address) { connect(probe, $0, $1) != 0 && errno == ECONNREFUSED }
  }

  private static func withAddress<Value>(
    of address: inout sockaddr_un, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Value
  ) -> Value {
    withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }

  /// Starts the thread.
  func start() throws(ConfigurationError) {
    let code = DetachedThread.start { [self] in serve() }
    guard code == 0 else {
      unlink(path)
      throw .cannotServe(path, code)
    }
  }

  /// Makes the thread end: it accepts no more clients.
  func end() { shutdown(listener, Int32(SHUT_RDWR)) }

  private func serve() {
    while true {
      let client = uninterrupted { accept(listener, nil, nil) }
      if client >= 0 {
        _ = fcntl(client, F_SETFD, FD_CLOEXEC)
        respond(to: client)
        close(client)
      } else if errno == EINVAL {
        break
      } else {
        // The process may be out of descriptors for a while.
        usleep(100_000)
      }
    }
    unlink(path)
    ended.give(())
  }

  private func respond(to client: Int32) {
    var patience = timeval(tv_sec: 1, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(client, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
    }
    let end = ContinuousClock.now + Self.patience
    guard readRequest(client, until: end) else { return }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    guard let json = try? encoder.encode(snapshot()) else { return }
    var response = Data(
      """
      HTTP/1.1 200 OK\r
      Content-Type: application/json\r
      Content-Length: \(json.count)\r
      Cache-Control: no-store\r
      Connection: close\r
      \r

      """.utf8)
    response.append(json)
    response.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty, ContinuousClock.now < end {
        let part = UnsafeRawBufferPointer(rebasing: rest)
        // Without the flag, a client that has gone would end the process.
        let count = uninterrupted { send(client, part.baseAddress, part.count, Int32(MSG_NOSIGNAL)) }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
      }
    }
  }

  /// Reads a request to the end of its head, which is the only thing that is looked for in it.
  private func readRequest(_ client: Int32, until end: ContinuousClock.Instant) -> Bool {
    var head: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4_096)
    while head.count <= Self.mostRequestBytes, ContinuousClock.now < end {
      let count = uninterrupted { recv(client, &piece, piece.count, 0) }
      guard count > 0 else { return false }
      head += piece[..<count]
      if head.suffix(4).elementsEqual("\r\n\r\n".utf8) { return true }
    }
    return false
  }
}

extension ConfigurationError {
  static func cannotServe(_ path: String, _ code: Int32) -> Self {
    Self(
      "cannot serve snapshots at \(path.escapedForDisplay): \(String(cString: strerror(code)))",
      hint: "give a path in a directory that exists, that this process may write to, and that no other process uses")
  }
}
