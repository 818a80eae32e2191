// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import PeerSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A listener on 127.0.0.1 whose queue is full: connecting to it neither succeeds nor fails.
final class FullListener: Sendable {
  let port: UInt16
  private let descriptors: [Int32]
  /// How many of our own connections wait.
  private static let fillers = 3

  init() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    var descriptors = [listener]
    try withUnsafeMutablePointer(to: &address) { pointer in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        try #require(bind(listener, pointer, size) == 0 && listen(listener, 0) == 0)
        try #require(getsockname(listener, pointer, &size) == 0)
        // A queue of length 0 holds one connection; the others wait to get in, like the one under test.
        for index in 0...Self.fillers {
          // The first gets in, and must have before the others are counted.
          let flags = index == 0 ? 0 : Int32(SOCK_NONBLOCK.rawValue)
          let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | flags, 0)
          _ = connect(filler, pointer, size)
          descriptors.append(filler)
        }
      }
    }
    port = UInt16(bigEndian: address.sin_port)
    self.descriptors = descriptors
  }

  deinit { for descriptor in descriptors { close(descriptor) } }

  /// Whether somebody else waits to get in.
  var isBeingAsked: Bool { Self.asking(port) > Self.fillers }

  /// Connections to a port in SYN_SENT.
  private static func asking(_ port: UInt16) -> Int {
    let table = KernelFile.text("/proc/self/net/tcp")
    let digits = String(port, radix: 16, uppercase: true)
    let wanted = ":" + String(repeating: "0", count: 4 - digits.count) + digits
    let rows = table.split(separator: "\n").map { $0.split(separator: " ") }
    // The kernel gives the table in pieces, and a row may be in two of them.
    return Set(rows.filter { $0.count > 3 && $0[2].hasSuffix(wanted) && $0[3] == "02" }.map { $0[1] }).count
  }
}

extension CurlTransport {
  func outcome(_ listener: FullListener, adapting adapt: (inout TransferRequest) -> Void = { _ in }) async -> Outcome {
    var request = TransferRequest(
      head: HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(listener.port)", path: "/"))
    adapt(&request)
    do throws(TransportError) {
      return .answered(try await execute(request).head.status.code, "")
    } catch {
      return .failed(error.word)
    }
  }
}
