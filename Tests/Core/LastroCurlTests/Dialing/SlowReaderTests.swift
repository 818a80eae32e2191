// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Streams whose buffer is full after each piece. The engine has to pause in the middle of the data that libcurl
/// delivers.
@Suite("Slow readers of compressed bodies", .timeLimit(.minutes(15)))
struct SlowReaderTests {
  private static let rounds = 3
  private static let zeros = 1_049_608

  /// Raw deflate data: three times 1,049,608 zeros in 1,037 bytes, each followed by its number in a stored block.
  private static let coded: [UInt8] = {
    let block =
      [0xEC, 0xC1, 0x31, 0x01, 0, 0, 0, 0xC2, 0xA0, 0xF5, 0x4F, 0x6D, 0x08, 0x5F, 0xA0]
      + [UInt8](repeating: 0, count: 1015)
      + [0, 0, 0x3E, 0x03, 0, 0, 0xFF, 0xFF]
    return (1...rounds).flatMap { block + [0, 1, 0, 0xFE, 0xFF, UInt8($0)] } + [1, 0, 0, 0xFF, 0xFF]
  }()

  /// The coded body in chunks of 1 to 99 bytes, with extensions and a trailer.
  private static let chunked: [UInt8] = {
    var rest = coded[...]
    var result: [UInt8] = []
    var size = 0
    while !rest.isEmpty {
      size = size % 99 + 1
      let data = rest.prefix(size)
      result += Array("\(String(data.count, radix: 16));n=\(size)\r\n".utf8) + data + Array("\r\n".utf8)
      rest = rest.dropFirst(size)
    }
    return result + Array("0\r\nX-Last: yes\r\n\r\n".utf8)
  }()

  enum Way: CaseIterable, Sendable { case length, chunks, untilClose, http2 }

  private static func server(_ way: Way, _ lab: HTTP2Servers) throws -> LoopbackServer {
    if way == .http2 {
      return try lab.server { _ in LoopbackResponse(headers: ["Content-Encoding": "deflate"], body: coded) }
    }
    let (field, body) =
      switch way {
      case .chunks: ("Transfer-Encoding: chunked\r\n", chunked)
      case .untilClose: ("Connection: close\r\n", coded)
      default: ("Content-Length: \(coded.count)\r\n", coded)
      }
    return try LoopbackServer { connection in
      guard try connection.readHead() != nil else { return }
      try connection.write("HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\(field)\r\n")
      // The body is written in parts that ignore chunk boundaries.
      var rest = body[...]
      while !rest.isEmpty {
        try connection.write(rest.prefix(777))
        rest = rest.dropFirst(777)
      }
    }
  }

  @Test("Every byte arrives in order, however often the reader pauses the engine", arguments: Way.allCases)
  func everyByte(way: Way) async throws {
    let lab = try HTTP2Servers()
    let server = try Self.server(way, lab)
    var configuration = CurlConfiguration()
    configuration.streamBufferBytes = 1
    let engine = try CurlTransport(configuration)
    let response = try await engine.execute(
      .to(server) {
        $0.delivery = .streamed(maximumBytes: nil)
        $0.trust(lab.authority)
      })
    var position = 0
    var wrong = 0
    for try await piece in response.body {
      #expect(piece.count <= 32 << 10, "at most one piece at a time, because each fills the stream")
      piece.withUnsafeBytes { bytes in
        for byte in bytes {
          let (round, place) = position.quotientAndRemainder(dividingBy: Self.zeros + 1)
          if byte != (place == Self.zeros ? UInt8(round + 1) : 0) { wrong += 1 }
          position += 1
        }
      }
    }
    #expect(position == Self.rounds * (Self.zeros + 1))
    #expect(wrong == 0)
    #expect(await eventually { engine.activeTransfers == 0 })
  }
}
