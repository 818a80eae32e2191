// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Bodies that lie about their compression, or abuse it.
@Suite("Faults: compression", .timeLimit(.minutes(60)))
struct CompressionFaultTests {
  private static let gzipHead: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]

  /// A MiB of zeros as a deflate block of 1,037 bytes that ends on a byte: any number of them may follow each other.
  private static let megabyteOfZeros: [UInt8] =
    [0xEC, 0xC1, 0x31, 0x01, 0, 0, 0, 0xC2, 0xA0, 0xF5, 0x4F, 0x6D, 0x08, 0x5F, 0xA0]
    + [UInt8](repeating: 0, count: 1015) + [0, 0, 0x3E, 0x03, 0, 0, 0xFF, 0xFF]

  /// `hello` in a stored block (RFC 1951 §3.2.4), with its checksum.
  private static let hello: [UInt8] =
    gzipHead + [1, 5, 0, 0xFA, 0xFF] + Array("hello".utf8) + [0x86, 0xA6, 0x10, 0x36, 5, 0, 0, 0]

  private static func zeros(megabytes: Int) -> [UInt8] {
    gzipHead + repeatElement(megabyteOfZeros, count: megabytes).joined()
  }

  private static func answer(_ coding: String, _ body: [UInt8], status: Int = 200) -> [UInt8] {
    Array("HTTP/1.1 \(status) Any\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body
  }

  private static let bad = Outcome.failed("response/bad_content_encoding")

  static let faults = [
    Fault("gzip", answer("gzip", hello), .answered(200, "hello")),
    Fault("garbage called gzip", answer("gzip", Array("this is no gzip at all".utf8)), bad),
    Fault("garbage called deflate", answer("deflate", [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), bad),
    Fault("garbage called br", answer("br", [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), bad),
    Fault("garbage called zstd", answer("zstd", Array("this is no zstd at all".utf8)), bad),
    Fault("a wrong checksum", answer("gzip", hello.dropLast(8) + [0, 0, 0, 0, 5, 0, 0, 0]), bad),
    Fault("a wrong length", answer("gzip", hello.dropLast(4) + [6, 0, 0, 0]), bad),
    // A leniency of libcurl 7.88, which does not tell whether compressed data came to its end: only where the body is cut
    // by its own framing is it known to be. A server that announces the length of a cut body is believed.
    Fault("gzip cut in its checksum", answer("gzip", hello.dropLast(6)), .answered(200, "hello")),
    Fault("gzip cut in its data", answer("gzip", Array(hello.prefix(17))), .answered(200, "he")),
    Fault("gzip cut in its head", answer("gzip", Array(hello.prefix(4))), .answered(200, "")),
    Fault("bytes after the gzip", answer("gzip", hello + Array("EXTRA".utf8)), bad),
    Fault("an unknown coding", answer("bogus", Array("hello".utf8)), bad),
    Fault("seven codings", answer("gzip, gzip, gzip, gzip, gzip, gzip, gzip", hello), bad),
    Fault("an announced coding and no body", answer("gzip", []), .answered(200, "")),
    Fault(
      "garbage called gzip with an error", answer("gzip", Array("this is no gzip".utf8), status: 500),
      .answered(500, "")),
    Fault("a bomb, collected", answer("gzip", zeros(megabytes: 11)), .failed("limit/body_too_large")),
  ]

  @Test("codings that are none", arguments: faults)
  func coding(_ fault: Fault) async throws {
    let outcome = try await play(fault)
    #expect(outcome == fault.expected)
  }

  @Test("a streamed bomb is stopped after 32 MiB, and never lies in memory")
  func streamedBomb() async throws {
    let server = try faultServer(Fault("", Self.answer("gzip", Self.zeros(megabytes: 60)), Self.bad))
    let engine = try CurlTransport()
    let response = try await engine.execute(.to(server) { $0.delivery = .streamed(maximumBytes: nil) })
    var count = 0
    var largest = 0
    var failure: TransportError?
    do throws(TransportError) {
      for try await chunk in response.body {
        count += chunk.count
        largest = max(largest, chunk.count)
      }
    } catch { failure = error }
    #expect(failure?.word == "limit/decompression_bomb")
    #expect(count <= 33 << 20)
    #expect(largest <= 1 << 20)
    #expect(await becomesTrue { engine.activeTransfers == 0 && server.openConnections == 0 })
  }

  @Test("a resource that asks for a coding itself gets the bytes as they were sent")
  func ownAcceptEncoding() async throws {
    let server = try faultServer(Fault("", Self.answer("gzip", Self.hello), Self.bad))
    let response = try await CurlTransport().execute(.to(server) { $0.head.headerFields[.acceptEncoding] = "gzip" })
    #expect(response.body.bytes == Data(Self.hello))
  }
}
