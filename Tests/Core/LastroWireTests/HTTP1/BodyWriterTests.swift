// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("Request bodies")
struct BodyWriterTests {
  private func write(_ pieces: [[UInt8]], _ framing: RequestFraming) throws -> (bytes: [UInt8], largest: Int) {
    var writer = BodyWriter(framing)
    var bytes: [UInt8] = []
    var largest = 0
    for piece in pieces {
      var rest = piece[...]
      while !rest.isEmpty {
        let frame = try writer.frame(rest.count)
        frame.withPrefix { bytes += $0 }
        bytes += rest.prefix(frame.count)
        frame.suffix.withUTF8Buffer { bytes += $0 }
        rest = rest.dropFirst(frame.count)
        largest = max(largest, frame.count)
      }
    }
    return (bytes + (try writer.end()), largest)
  }

  @Test("Chunks decode to what was written, whatever their size, and none exceeds 64 KiB")
  func chunks() throws {
    for size in [1, 9, 10, 15, 16, 255, 256, 4_095, 4_096, 65_535, 65_536, 65_537, 200_000] {
      let piece = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
      let (bytes, largest) = try write([piece, [1]], .chunked)
      #expect(largest == min(size, BodyWriter.maximumChunkBytes))
      let answer = AnswerFeeding([(Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8) + bytes)[...]])
      #expect(answer.body == piece + [1] && answer.hasEnded && answer.leftover.isEmpty, "\(size)")
    }
    #expect(
      String(decoding: try write([Array("hello".utf8)], .chunked).bytes, as: UTF8.self) == "5\r\nhello\r\n0\r\n\r\n")
    #expect(String(decoding: try write([], .chunked).bytes, as: UTF8.self) == "0\r\n\r\n")
  }

  @Test("A body of known length is sent as it is, and its bytes are counted")
  func length() throws {
    #expect(try write([[1, 2], [3]], .length(3)).bytes == [1, 2, 3])
    #expect(try write([], .length(0)).bytes == [])
    #expect(try write([], .none).bytes == [])
    let cases: [([[UInt8]], RequestFraming)] = [([[1]], .none), ([[1]], .length(0)), ([[1, 2], [3]], .length(2))]
    for (pieces, framing) in cases {
      let violation = #expect(throws: RequestViolation.self) { try write(pieces, framing) }
      #expect(violation?.kind == .body)
    }
    let violation = #expect(throws: RequestViolation.self) { try write([[1]], .length(2)) }
    #expect(violation == RequestViolation(.body, "the body ended after 1 byte, and its Content-Length is 2"))
  }

  @Test("A trailer that is only valid in a head, or cannot be sent, is refused")
  func trailers() {
    func kind(_ name: String, _ value: String = "1", _ framing: RequestFraming = .chunked) -> RequestViolation.Kind? {
      var writer = BodyWriter(framing)
      do throws(RequestViolation) {
        _ = try writer.end(trailers: [ResponseHead.Field(name: name, value: value)])
        return nil
      } catch {
        return error.kind
      }
    }
    for name in ["Content-Length", "transfer-encoding", "HOST", "Authorization", "Cookie", "If-Match", "Trailer", "TE"]
    {
      #expect(kind(name) == .trailer, "\(name)")
    }
    #expect(kind("Digest") == nil)
    #expect(kind("a b") == .fieldName)
    #expect(kind("A", "1\r\nB: 2") == .fieldValue)
    #expect(kind("Digest", "1", .length(0)) == .body)
  }

  @Test("Length and method determine the framing fields")
  func framing() {
    #expect(RequestFraming.known(0, method: "GET") == .none && RequestFraming.known(0, method: "DELETE") == .none)
    for method in ["POST", "PUT", "PATCH"] { #expect(RequestFraming.known(0, method: method) == .length(0)) }
    #expect(RequestFraming.known(5, method: "GET") == .length(5))
    #expect(RequestFraming.none.field == nil)
    #expect(RequestFraming.length(0).field?.value == "0" && RequestFraming.chunked.field?.value == "chunked")
    #expect(!RequestFraming.length(1 << 20).deservesExpect && RequestFraming.length(1 << 20 + 1).deservesExpect)
    #expect(RequestFraming.chunked.deservesExpect && !RequestFraming.none.deservesExpect)
  }
}
