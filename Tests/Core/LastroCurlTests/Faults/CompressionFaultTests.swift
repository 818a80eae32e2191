// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Bodies whose compression is invalid or abusive.
@Suite("Faults: content codings", .overEachLink, .timeLimit(.minutes(15)))
struct CompressionFaultTests {
  private static let gzipHead: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]

  /// A deflate block of 1,037 bytes that contains one MiB of zeros. The block ends on a byte boundary, so any number of
  /// blocks can follow each other.
  private static let megabyteOfZeros: [UInt8] =
    [0xEC, 0xC1, 0x31, 0x01, 0, 0, 0, 0xC2, 0xA0, 0xF5, 0x4F, 0x6D, 0x08, 0x5F, 0xA0]
    + [UInt8](repeating: 0, count: 1015) + [0, 0, 0x3E, 0x03, 0, 0, 0xFF, 0xFF]

  /// `hello` in a stored block (RFC 1951 §3.2.4), with its checksum.
  private static let hello: [UInt8] =
    gzipHead + [1, 5, 0, 0xFA, 0xFF] + Array("hello".utf8) + [0x86, 0xA6, 0x10, 0x36, 5, 0, 0, 0]

  private static func zeros(megabytes: Int) -> [UInt8] {
    gzipHead + repeatElement(megabyteOfZeros, count: megabytes).joined()
  }

  private static let rawHello: [UInt8] = [1, 5, 0, 0xFA, 0xFF] + Array("hello".utf8)
  private static let zlibHello: [UInt8] = [0x78, 0x9C] + rawHello + [0x06, 0x2C, 0x02, 0x15]

  private static func answer(_ coding: String, _ body: [UInt8], status: Int = 200) -> [UInt8] {
    Array("HTTP/1.1 \(status) Any\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body
  }

  private static func untilClose(_ coding: String, _ body: [UInt8]) -> [UInt8] {
    Array("HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nConnection: close\r\n\r\n".utf8) + body
  }

  /// Returns a response with one chunk for each byte.
  private static func chunked(_ coding: String, _ body: [UInt8]) -> [UInt8] {
    Array("HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
      + body.flatMap { Array("1;x\r\n".utf8) + [$0] + Array("\r\n".utf8) } + Array("0\r\n\r\n".utf8)
  }

  private static let truncated = Outcome.failed("response/truncated_body")
  private static let bad = Outcome.failed("response/bad_content_encoding")

  static let faults = [
    Fault("gzip", answer("gzip", hello), .answered(200, "hello")),
    Fault("garbage called gzip", answer("gzip", Array("this is no gzip at all".utf8)), bad),
    Fault("garbage called deflate", answer("deflate", [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), bad),
    Fault("gzip by its old name", answer("X-Gzip", hello), .answered(200, "hello")),
    Fault("gzip of two members", answer("gzip", hello + hello), .answered(200, "hellohello")),
    Fault("gzip and zeros", answer("gzip", hello + [0, 0, 0]), .answered(200, "hello")),
    Fault("gzip and identity", answer("identity, gzip", hello), .answered(200, "hello")),
    Fault("identity", answer("identity", Array("hello".utf8)), .answered(200, "hello")),
    Fault("deflate in zlib's format", answer("deflate", zlibHello), .answered(200, "hello")),
    Fault("bare deflate", answer("deflate", rawHello), .answered(200, "hello")),
    Fault("br, which was not offered", answer("br", Array("hello".utf8)), bad),
    Fault("zstd, which was not offered", answer("zstd", Array("hello".utf8)), bad),
    Fault("br, of nothing", answer("br", []), .answered(200, "")),
    Fault("br, for HEAD", answer("br", Array("hello".utf8)), .answered(200, ""), method: .head),
    Fault("br, with an error", answer("br", Array("hello".utf8), status: 404), .answered(404, "")),
    Fault("a wrong checksum", answer("gzip", hello.dropLast(8) + [0, 0, 0, 0, 5, 0, 0, 0]), bad),
    Fault("a wrong length", answer("gzip", hello.dropLast(4) + [6, 0, 0, 0]), bad),
    Fault("gzip cut in its checksum", answer("gzip", hello.dropLast(6)), truncated),
    Fault("gzip cut in its data", answer("gzip", Array(hello.prefix(17))), truncated),
    Fault("gzip cut in its head", answer("gzip", Array(hello.prefix(4))), truncated),
    Fault("deflate cut in its checksum", answer("deflate", zlibHello.dropLast()), truncated),
    Fault("bare deflate, cut", answer("deflate", rawHello.dropLast()), truncated),
    Fault("cut gzip with an error", answer("gzip", hello.dropLast(6), status: 503), .answered(503, "hello")),
    Fault("gzip that the connection ends", untilClose("gzip", hello), .answered(200, "hello")),
    Fault("cut gzip that the connection ends", untilClose("gzip", hello.dropLast(9)), truncated),
    Fault("gzip in chunks", chunked("gzip", hello), .answered(200, "hello")),
    Fault("cut gzip in chunks", chunked("gzip", hello.dropLast(9)), truncated),
    Fault("gzip of two members in chunks", chunked("gzip", hello + hello), .answered(200, "hellohello")),
    Fault("bytes after the gzip", answer("gzip", hello + Array("EXTRA".utf8)), bad),
    Fault("an unknown coding", answer("bogus", Array("hello".utf8)), bad),
    Fault("bytes after the deflate", answer("deflate", zlibHello + [0]), bad),
    Fault("two codings", answer("gzip, gzip", hello), bad),
    Fault("seven codings", answer("gzip, gzip, gzip, gzip, gzip, gzip, gzip", hello), bad),
    Fault("an announced coding and no body", answer("gzip", []), .answered(200, "")),
    Fault(
      "garbage called gzip with an error", answer("gzip", Array("this is no gzip".utf8), status: 500),
      .answered(500, "")),
    Fault("a bomb, collected", answer("gzip", zeros(megabytes: 11)), .failed("limit/body_too_large")),
  ]

  @Test("Invalid content codings fail the response", arguments: faults)
  func coding(_ fault: Fault) async throws {
    let outcome = try await play(fault)
    #expect(outcome == fault.expected)
  }

  @Test("Invalid content codings fail a streamed response", arguments: faults)
  func streamed(_ fault: Fault) async throws {
    let server = try faultServer(fault)
    let engine = try LinkKind.current.engine()
    let outcome = await engine.outcome(server, "/fault", method: fault.method) {
      $0.delivery = .streamedOnSuccess(maximumBytes: 10 << 20, errorBytes: 1 << 20)
    }
    #expect(outcome == fault.expected)
    #expect(server.requests.count == 1)
    #expect(await eventually { engine.activeTransfers == 0 })
  }

  @Test("Content codings over HTTP/2 have the same outcomes")
  func overHTTP2() async throws {
    let lab = try HTTP2Servers()
    let rows: [(String, [UInt8], Outcome)] = [
      ("gzip", Self.hello, .answered(200, "hello")), ("gzip", Self.hello + Self.hello, .answered(200, "hellohello")),
      ("deflate", Self.rawHello, .answered(200, "hello")), ("gzip", Self.hello.dropLast(6), Self.truncated),
      ("gzip", [], .answered(200, "")), ("br", Array("hello".utf8), Self.bad), ("gzip", Array("hello".utf8), Self.bad),
      ("gzip", Self.hello + [1], Self.bad), ("zstd, zstd, zstd", Array("hello".utf8), Self.bad),
    ]
    let server = try lab.server { request in
      let (coding, body, _) = rows[Int(request.path.dropFirst()) ?? 0]
      return LoopbackResponse(headers: ["Content-Encoding": coding], body: body)
    }
    for (index, row) in rows.enumerated() {
      #expect(await lab.outcome(server, "/\(index)") == row.2, "\(row.0) \(row.1)")
      #expect(
        await lab.outcome(server, "/\(index)") { $0.delivery = .streamed(maximumBytes: nil) } == row.2, "\(index)")
    }
  }

  @Test("An error about content codings names the remedy")
  func remedies() async throws {
    let codings = try faultServer(Fault("", Self.answer("zstd, zstd, zstd, zstd, zstd", Self.hello), Self.bad))
    let many = try await LinkKind.current.engine().failure(codings)
    #expect(many.message.contains("5 content codings"))
    #expect(many.hint?.contains("maximumContentCodings") == true)
    let unknown = try faultServer(Fault("", Self.answer("br", Self.hello), Self.bad))
    let other = try await LinkKind.current.engine().failure(unknown)
    #expect(other.message.contains("\"br\""))
    #expect(other.hint?.contains("Accept-Encoding") == true)
    #expect(other.requestSent)
  }

  @Test("As many codings as the configuration allows are decoded, and no more")
  func severalCodings() async throws {
    let stored: (Int) -> [UInt8] = { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
    let count = Self.hello.count
    let twice = [1] + stored(count) + stored(~count) + Self.hello
    let engine = try LinkKind.current.engine { $0.maximumContentCodings = 2 }
    for (coding, expected) in [
      ("gzip, deflate", Outcome.answered(200, "hello")), ("deflate, gzip", Self.bad), ("gzip, gzip, deflate", Self.bad),
    ] {
      let server = try faultServer(Fault("", Self.answer(coding, twice), expected))
      #expect(await engine.outcome(server) == expected, "\(coding)")
    }
    for count in [0, -1, 9] {
      #expect(throws: ConfigurationError.self) { try LinkKind.current.engine { $0.maximumContentCodings = count } }
    }
  }

  /// Returns the bytes as stored deflate blocks (RFC 1951 §3.2.4).
  private static func storedBlocks(_ bytes: [UInt8]) -> [UInt8] {
    var blocks: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 10_000) {
      let piece = bytes[start..<min(start + 10_000, bytes.count)]
      let size = UInt16(piece.count)
      blocks.append(0)
      for number in [size, ~size] { blocks += [UInt8(truncatingIfNeeded: number), UInt8(number >> 8)] }
      blocks += piece
    }
    return blocks
  }

  @Test(
    "A streamed decompression bomb is stopped after 32 MiB and never held in memory",
    arguments: ["gzip", "gzip, deflate"])
  func streamedBomb(coding: String) async throws {
    var bomb = Self.zeros(megabytes: 60)
    if coding != "gzip" { bomb = Self.storedBlocks(bomb) }
    let server = try faultServer(Fault("", Self.answer(coding, bomb), Self.bad))
    let engine = try LinkKind.current.engine { $0.maximumContentCodings = 2 }
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
    #expect(failure?.words == "limit/decompression_bomb")
    #expect(count <= 33 << 20)
    #expect(largest <= 1 << 20)
    #expect(await eventually { engine.activeTransfers == 0 && server.openConnections == 0 })
  }

  @Test("Accept-Encoding offers gzip and deflate only")
  func offer() async throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    #expect(await (try LinkKind.current.engine()).outcome(server) == .answered(200, "fine"))
    #expect(server.requests.map { $0.head["Accept-Encoding"] } == ["gzip, deflate"])
  }

  @Test(
    "A resource that sets Accept-Encoding itself gets the bytes as they were sent",
    arguments: ["gzip", "br", "br, gzip"])
  func ownAcceptEncoding(coding: String) async throws {
    for body in [chunkedBytes, plainBytes] {
      let server = try faultServer(Fault("", body(coding), Self.bad))
      let response = try await LinkKind.current.engine().execute(
        .to(server) { $0.head.headerFields[.acceptEncoding] = coding })
      #expect(response.body.bytes == Data(Self.hello))
    }
  }

  private func chunkedBytes(_ coding: String) -> [UInt8] { Self.chunked(coding, Self.hello) }
  private func plainBytes(_ coding: String) -> [UInt8] { Self.answer(coding, Self.hello) }
}
