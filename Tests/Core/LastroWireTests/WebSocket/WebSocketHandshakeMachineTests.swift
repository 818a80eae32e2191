// SPDX-License-Identifier: Apache-2.0

import CLastroPrimitives
import Testing

@testable import LastroWire

@Suite("WebSocket handshakes without I/O")
struct WebSocketHandshakeMachineTests {
  private func head(_ fields: [(String, String)]) -> ResponseHead {
    ResponseHead(
      version: (1, 1), status: 101, reason: "", fields: fields.map { ResponseHead.Field(name: $0.0, value: $0.1) })
  }

  @Test("SHA-1 and Base64 reproduce the examples of the RFCs")
  func digests() {
    let hex = { (text: String) -> String in
      var digest = [UInt8](repeating: 0, count: 20)
      #expect(clastro_digest_of("SHA1", text, text.utf8.count, &digest, 20))
      return digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
    #expect(hex("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d")
    #expect(hex("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
    #expect(
      hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") == "84983e441c3bd26ebaae4aa1f95129e5e54670f1")
    #expect(hex(String(repeating: "a", count: 1000)) == "291e9a6c66994949b57ba5e650361e98fc36b1ba")
    let base64 = ["": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foob": "Zm9vYg==", "fooba": "Zm9vYmE="]
    for (text, expected) in base64 { #expect(Base64.encode(Array(text.utf8)) == expected) }
    #expect(WebSocketHandshake.accept("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
  }

  @Test("A nonce of 16 bytes becomes the key, and the request contains the offer")
  func request() {
    let handshake = WebSocketHandshake(
      nonce: (0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908), subprotocols: ["a", "b"], offer: .init())
    #expect(handshake.key == "AAECAwQFBgcICQoLDA0ODw==")
    let fields = Dictionary(uniqueKeysWithValues: handshake.fields.map { ($0.name, $0.value) })
    #expect(fields["Sec-WebSocket-Protocol"] == "a, b")
    #expect(fields["Sec-WebSocket-Extensions"] == "permessage-deflate; client_max_window_bits")
    #expect(fields["Sec-WebSocket-Version"] == "13")
  }

  @Test("A correct response in any spelling is accepted")
  func right() throws {
    let handshake = WebSocketHandshake(nonce: (1, 2), subprotocols: ["a", "b"], offer: .init())
    let agreement = try handshake.check(
      head([
        ("UPGRADE", "WebSocket"), ("connection", "keep-alive, UPGRADE"),
        ("sec-websocket-accept", WebSocketHandshake.accept(handshake.key)), ("Sec-WebSocket-Protocol", "b"),
        ("Sec-WebSocket-Extensions", "permessage-deflate; server_max_window_bits=12"),
      ]))
    #expect(agreement.subprotocol == "b")
    #expect(agreement.deflate?.serverWindowBits == 12)
  }

  @Test("A response with one error is refused because of it")
  func wrong() {
    let handshake = WebSocketHandshake(nonce: (1, 2), subprotocols: ["a"])
    let right = [
      ("Upgrade", "websocket"), ("Connection", "Upgrade"),
      ("Sec-WebSocket-Accept", WebSocketHandshake.accept(handshake.key)),
    ]
    let changes: [(WebSocketHandshakeFailure.Kind, [(String, String)])] = [
      (.upgrade, Array(right[1...])), (.upgrade, [("Upgrade", "h2c")] + right[1...]),
      (.connection, [right[0], right[2]]), (.connection, [right[0], ("Connection", "close"), right[2]]),
      (.accept, Array(right[..<2])), (.accept, right[..<2] + [("Sec-WebSocket-Accept", "x")]),
      (.accept, right + [right[2]]), (.subprotocol, right + [("Sec-WebSocket-Protocol", "c")]),
      (.subprotocol, right + [("Sec-WebSocket-Protocol", "a"), ("Sec-WebSocket-Protocol", "a")]),
      (.extensions, right + [("Sec-WebSocket-Extensions", "permessage-deflate")]),
      (.extensions, right + [("Sec-WebSocket-Extensions", "a b")]),
    ]
    for (kind, fields) in changes {
      let error = #expect(throws: WebSocketHandshakeFailure.self) { try handshake.check(head(fields)) }
      #expect(error?.kind == kind)
    }
    #expect(throws: Never.self) { try handshake.check(head(right)) }
  }

  @Test("101 is final for a request that asked for it, and refused otherwise")
  func upgrade() throws {
    for accepts in [true, false] {
      var machine = ResponseHeadMachine(
        maximumHeadBytes: 1000, maximumFields: 10, maximumInterimResponses: 2,
        request: accepts ? .upgrade : .ordinary)
      _ = try Array("HTTP/1.1 101 Switching Protocols\r\n".utf8).withUnsafeBytes { try machine.consume(line: $0) }
      if accepts {
        let event = try Array("\r\n".utf8).withUnsafeBytes { try machine.consume(line: $0) }
        guard case .final(let head) = event else {
          Issue.record("\(event)")
          continue
        }
        #expect(head.status == 101)
      } else {
        #expect(throws: HeadViolation.self) {
          try Array("\r\n".utf8).withUnsafeBytes { _ = try machine.consume(line: $0) }
        }
      }
    }
  }
}

@Suite("Response bodies")
struct ResponseBodyMachineTests {
  private func framing(_ fields: [(String, String)]) throws -> ResponseFraming {
    try ResponseFraming(
      ResponseHead(
        version: (1, 1), status: 404, reason: "", fields: fields.map { ResponseHead.Field(name: $0.0, value: $0.1) }))
  }

  @Test("Lengths and chunks are decoded in every split, without reading beyond them")
  func splits() throws {
    let cases: [([(String, String)], String, String)] = [
      ([("Content-Length", "5")], "helloEXTRA", "hello"), ([("Content-Length", "0")], "EXTRA", ""),
      (
        [("Transfer-Encoding", "chunked")], "3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: 1\r\n\r\nEXTRA", "abc0123456789"
      ),
      ([], "to the end", "to the end"),
    ]
    for (fields, sent, expected) in cases {
      let bytes = Array(sent.utf8)
      for cut in 0...bytes.count {
        var machine = ResponseBodyMachine(try framing(fields))
        var body: [UInt8] = []
        try bytes[..<cut].withUnsafeBytes { try machine.consume($0, into: &body) }
        try bytes[cut...].withUnsafeBytes { try machine.consume($0, into: &body) }
        #expect(String(decoding: body, as: UTF8.self) == expected)
        #expect(machine.isDone == !fields.isEmpty)
        #expect(machine.mayEndHere)
      }
    }
  }

  @Test(
    "Trailers have limits of lines and bytes",
    arguments: [
      (512, 1, nil), (513, 1, HeadViolation.Kind.tooManyFields), (4, 16_000, nil), (5, 16_000, .headTooLarge),
    ])
  func trailers(lines: Int, length: Int, expected: HeadViolation.Kind?) throws {
    var machine = ResponseBodyMachine(try framing([("Transfer-Encoding", "chunked")]))
    var body: [UInt8] = []
    let line = String(repeating: "t", count: length) + ":\r\n"
    let sent = Array(("0\r\n" + String(repeating: line, count: lines) + "\r\n").utf8)
    var kind: HeadViolation.Kind?
    do throws(HeadViolation) {
      try sent.withBytes { bytes throws(HeadViolation) in try machine.consume(bytes, into: &body) }
    } catch {
      kind = error.kind
    }
    #expect(kind == expected)
    #expect(machine.isDone == (expected == nil))
  }

  @Test(
    "Malformed chunks are refused", arguments: ["x\r\n", "\r\n", "-1\r\n", "1\r\nab\r\n", "8000000000000000\r\n"])
  func badChunks(_ text: String) throws {
    var machine = ResponseBodyMachine(try framing([("Transfer-Encoding", "chunked")]))
    var body: [UInt8] = []
    #expect(throws: HeadViolation.self) {
      try Array(text.utf8).withUnsafeBytes { try machine.consume($0, into: &body) }
    }
  }
}

extension ResponseBodyMachine {
  /// Consumes bytes, and appends the body's bytes to `body`.
  fileprivate mutating func consume(
    _ bytes: UnsafeRawBufferPointer, into body: inout [UInt8]
  ) throws(HeadViolation) {
    var position = 0
    while true {
      let count = try findBody(in: bytes, at: &position)
      if count == 0 { return }
      body += bytes[position..<position + count]
      markUsed(count)
      position += count
    }
  }
}
