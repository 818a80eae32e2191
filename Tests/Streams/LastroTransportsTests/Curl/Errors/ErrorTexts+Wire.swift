// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import LastroHTTP
import Testing

@testable import Lastro
@testable import LastroWebSocket
@testable import LastroWire

extension ErrorTexts {
  static func responses() -> Self {
    var texts = Self()
    func answer(
      _ text: String, limits: ExchangeLimits = ExchangeLimits(), to request: ResponseReader.Request = .ordinary
    ) -> () throws -> Any {
      {
        var reader = ResponseReader(to: request, limits: limits)
        do throws(HeadViolation) {
          try Array(text.utf8).withBytes { bytes throws(HeadViolation) in
            var position = 0
            while position < bytes.count {
              let event = try reader.next(in: bytes, at: &position)
              if case .body(let count) = event {
                reader.take(count)
                position += count
              } else if event == .needsMore || event == .end {
                break
              }
            }
          }
          try reader.finish()
        } catch {
          throw error.transportError
        }
        return reader
      }
    }
    let ok = "HTTP/1.1 200 OK\r\n"
    let chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
    for text in [
      "HTTP/1.1 \r\n", "HTTP/1.1 2x0\r\n", "HTTP/1.1 099\r\n", "HTTP/1.1 2000\r\n", "ICY 200 OK\r\n",
      "HTTP/4.0 200 OK\r\n",
      ok + ": b\r\n\r\n",
      ok + "a\r\n\r\n", ok + "a: \u{1}\r\n\r\n",
      ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", ok + "Content-Length: x\r\n\r\n",
      "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
      ok + "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", ok + "Transfer-Encoding: gzip\r\n\r\n",
      "HTTP/1.1 101 \r\n\r\n", ok + " a: b\r\n\r\n", ok + "Content-Length: 1\r\n 1\r\n\r\n", ok + "a: b\rc\r\n\r\n",
      ok + "a: b\r\n", ok + "Content-Length: 2\r\n\r\na", "HTTP/2.0 200 OK\r\n\r\n", chunked + "1\r\nabc",
      chunked + "1\n", chunked + "1\rx", chunked + "1;\r\n", chunked + "1;a=\r\n",
      chunked + "\r\n", chunked + "fffffffffffffffff\r\n", chunked + "1 x\r\n",
      chunked + "1;" + String(repeating: "a", count: 99_999),
      chunked + "1;a=\u{1}\r\n",
      chunked + String(repeating: "1;\(String(repeating: "a", count: 4000))\r\na\r\n", count: 99),
      chunked + "0\r\na: b\n\r\n", chunked + "0\r\na: b\rc", chunked + "0\r\na: b\r\n c\r\n\r\n",
      chunked + "0\r\na: " + String(repeating: "a", count: 99_999),
      chunked + "0\r\n" + String(repeating: "a: b\r\n", count: 999) + "\r\n", chunked + "0\r\na\r\n\r\n",
    ] { texts.provoke(answer(text)) }
    texts.provoke(
      answer(ok + "a: b\r\n", limits: ExchangeLimits(headBytes: 16)),
      answer(ok + "a: b\r\nc: d\r\n\r\n", limits: ExchangeLimits(fields: 1)),
      answer("HTTP/1.1 100 \r\n\r\n" + ok, limits: ExchangeLimits(interimResponses: 0)),
      answer(ok + "\r\n0123456789", limits: ExchangeLimits(bodyBytes: 9)),
      answer(ok + "Content-Length: 10\r\n\r\n0123456789", limits: ExchangeLimits(bodyBytes: 9)))
    texts.add(HeadViolation.bodyTooLarge(9, announced: 10).transportError)
    return texts
  }

  static func writtenRequests() -> Self {
    var texts = Self()
    func request(_ method: String, _ target: String, _ fields: (String, String)...) -> () throws -> Any {
      {
        do {
          var writer = try RequestWriter(method: method, target: target)
          for (name, value) in fields { try writer.add(name, value) }
          return try writer.finish()
        } catch let violation as RequestViolation {
          throw violation.transportError
        }
      }
    }
    let host = ("Host", "a.example")
    texts.provoke(
      request("", "/"), request("GET", ""), request("GET", "/", ("a b", "c")), request("GET", "/", ("a", "b\nc")),
      request("GET", "/"), request("GET", "/", host, host), request("GET", "/", ("Host", "a b")),
      request("GET", "/", host, ("Content-Length", "x")), request("GET", "/", host, ("Transfer-Encoding", "gzip")))
    return texts
  }

  static func exchangesOfHTTP1() -> Self {
    var texts = Self()
    func body(_ framing: RequestFraming, _ write: @escaping (inout BodyWriter) throws -> Any) -> () throws -> Any {
      {
        var writer = BodyWriter(framing)
        do { return try write(&writer) } catch let violation as RequestViolation { throw violation.transportError }
      }
    }
    texts.provoke(
      body(.length(1)) { try $0.frame(2) }, body(.length(1)) { try $0.end() },
      body(.length(0)) { try $0.end(trailers: [.init(name: "a", value: "b")]) },
      body(.chunked) { try $0.end(trailers: [.init(name: "Host", value: "b")]) },
      {
        var exchange = HTTP1Exchange(.chunked, to: .upgrade)
        exchange.started()
        do throws(HTTP1Failure) {
          return try Array("HTTP/1.1 101 \r\n\r\n".utf8).withBytes { bytes throws(HTTP1Failure) in
            var position = 0
            return try exchange.next(in: bytes, at: &position)
          }
        } catch {
          throw error.transportError()
        }
      },
      {
        do throws(RequestViolation) {
          var length = PreparedFields()
          try length.add("Content-Length", "1")
          var writer = try RequestWriter(method: "GET", target: "/")
          try writer.add(length)
          try writer.add(length)
          return ""
        } catch {
          throw error.transportError
        }
      })
    for kind in [HTTP1Failure.Kind.lostBeforeFirstByte, .lostInHead, .truncated, .source] {
      texts.add(HTTP1Failure(kind: kind, requestSent: true).transportError())
    }
    return texts
  }

  static func webSocketFrames() -> Self {
    var texts = Self()
    func frames(
      _ bytes: [UInt8], role: WebSocketRole = .client, deflate: WebSocketDeflate? = nil, frame: Int = .max,
      message: Int? = nil
    ) -> () throws -> Any {
      {
        var decoder = WebSocketDecoder(
          .init(
            role: role, deflate: deflate, maximumFrameBytes: frame, maximumMessageBytes: message,
            maximumPieceBytes: 9_999))
        do throws(WebSocketViolation) {
          bytes.withUnsafeBytes { decoder.receive($0) }
          while try decoder.next() != nil {}
        } catch {
          throw WebSocketError(error)
        }
        return 0
      }
    }
    texts.provoke(
      frames([0x91, 0]), frames([0x83, 0]), frames([0xC1, 0]), frames([0x09, 0]), frames([0x81, 0x80]),
      frames([0x81, 0], role: .server), frames([0x89, 126]), frames([0x81, 127, 0x80]), frames([0x81, 126, 0, 1]),
      frames([0x81, 5], frame: 4), frames([0x80, 0]), frames([0x01, 0, 0x81, 0]), frames([0x81, 5], message: 4),
      frames([0xC1, 1, 0xFF], deflate: WebSocketDeflate()), frames([0xC1, 1, 0x4A], deflate: WebSocketDeflate()),
      frames([0x81, 1, 0xFF]), frames([0x88, 1, 0]), frames([0x88, 2, 0, 1]), frames([0x88, 3, 0x03, 0xE8, 0xFF]))
    return texts
  }

  static func webSocketHandshakes() -> Self {
    var texts = Self()
    func answer(
      _ fields: [(String, String)], accept: Bool = true, offer: WebSocketDeflateOffer? = nil
    ) -> () throws -> Any {
      {
        let handshake = WebSocketHandshake(nonce: (1, 2), offer: offer)
        let proof = accept ? [("Sec-WebSocket-Accept", WebSocketHandshake.accept(handshake.key))] : []
        let head = ResponseHead(
          version: (1, 1), status: 101, reason: "",
          fields: (fields + proof).map { ResponseHead.Field(name: $0.0, value: $0.1) })
        do throws(WebSocketHandshakeFailure) {
          return try handshake.check(head)
        } catch {
          throw TransportError.refusedHandshake(error)
        }
      }
    }
    let upgraded = [("Upgrade", "websocket"), ("Connection", "Upgrade")]
    func offering(_ subprotocols: [String]) -> () throws -> Any {
      {
        let handshake = WebSocketHandshake(nonce: (1, 2), subprotocols: subprotocols)
        let fields =
          upgraded + [
            ("Sec-WebSocket-Accept", WebSocketHandshake.accept(handshake.key)), ("Sec-WebSocket-Protocol", "x"),
          ]
        let head = ResponseHead(
          version: (1, 1), status: 101, reason: "",
          fields: fields.map { ResponseHead.Field(name: $0.0, value: $0.1) })
        do throws(WebSocketHandshakeFailure) {
          return try handshake.check(head)
        } catch {
          throw TransportError.refusedHandshake(error)
        }
      }
    }
    func extended(_ value: String, _ offer: WebSocketDeflateOffer? = WebSocketDeflateOffer()) -> () throws -> Any {
      answer(upgraded + [("Sec-WebSocket-Extensions", value)], offer: offer)
    }
    texts.provoke(
      answer([]), answer([("Upgrade", "h2c")]), answer([upgraded[0]]), answer([upgraded[0], ("Connection", "close")]),
      offering(["chat", "superchat"]), answer(upgraded, accept: false),
      answer(upgraded + [("Sec-WebSocket-Protocol", "chat")]), extended(";"), extended("permessage-deflate", nil),
      extended("permessage-deflate; a=b"), extended("permessage-deflate; client_max_window_bits"))
    return texts
  }

  static func webSockets() -> Self {
    var texts = Self()
    func configuration(_ edit: (inout WebSocketConfiguration) -> Void) -> () throws -> Any {
      var configuration = WebSocketConfiguration()
      edit(&configuration)
      return { [configuration] in try configuration.check() }
    }
    texts.provoke(
      configuration { $0.subprotocols = ["a b"] }, configuration { $0.subprotocols = ["a", "a"] },
      configuration { $0.maximumMessageBytes = 0 }, configuration { $0.maximumOutgoingFrameBytes = .max },
      configuration { $0.maximumFragmentedMessageBytes = 1 }, configuration { $0.closeTimeout = .zero },
      configuration {
        $0.compression = WebSocketConfiguration.Compression()
        $0.compression?.minimumBytes = -1
      },
      configuration {
        $0.compression = WebSocketConfiguration.Compression()
        $0.compression?.serverMaximumWindowBits = 99
      },
      configuration { $0.address = .init(host: "a.example", port: 70_000) },
      configuration { $0.address = .init(host: "") })
    let lost = TransportError(stage: .send, code: .sendFailed, message: "sending failed")
    let failed = HTTPFetchError<any Error>(.transport(lost), request: "GET wss://a.example/")
    texts.add(
      WebSocketError.cancelled, WebSocketError.lacksPong(within: .seconds(10)), WebSocketError.closed(nil),
      WebSocketError(handshake: failed), WebSocketError(lost: nil), WebSocketError(lost: lost), .silence(.seconds(25)),
      .abandoned, .cut, .dropped, .noStream, .refusedReopening(TransportError.shutDownForTests), .tooLong(9))
    var request = TransferRequest(head: HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/"))
    request.wholeTimeout = .seconds(30)
    texts.add(TransportError.notSwitched(200), .unopenedWebSocket(request))
    return texts
  }
}
