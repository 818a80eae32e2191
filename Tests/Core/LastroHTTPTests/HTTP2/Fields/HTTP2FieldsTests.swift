// SPDX-License-Identifier: Apache-2.0

import CLoopback
import LastroWire
import Testing

@testable import LastroHTTP

@Suite("Request fields over HTTP/2")
struct HTTP2FieldsTests {
  @Test(
    "Fields of HTTP/1.1 connections are refused",
    arguments: [
      ("Connection", "close"), ("keep-alive", "5"), ("Proxy-Connection", "x"), ("transfer-encoding", "chunked"),
      ("Upgrade", "websocket"), ("te", "gzip"),
    ])
  func framing(name: String, value: String) throws {
    var head = try SessionLab.request()
    #expect { try head.add(name, value) } throws: { ($0 as? RequestViolation)?.kind == .framing }
  }

  @Test(
    "Ambiguous field values are refused",
    arguments: [
      ("", "x", RequestViolation.Kind.fieldName), ("a b", "x", .fieldName), (":path", "/", .fieldName),
      ("x", "a\r\nb", .fieldValue), ("x", "a\0", .fieldValue), ("x", " a", .fieldValue), ("x", "a\t", .fieldValue),
      ("Host", "other.example", .host),
    ])
  func refused(name: String, value: String, kind: RequestViolation.Kind) throws {
    var head = try SessionLab.request()
    #expect { try head.add(name, value) } throws: { ($0 as? RequestViolation)?.kind == kind }
  }

  @Test(
    "Method, authority and path must be valid",
    arguments: [
      ("", "a", "/", RequestViolation.Kind.method), ("G T", "a", "/", .method), ("GET", "", "/", .host),
      ("GET", "a b", "/", .host), ("GET", "a", "", .target), ("GET", "a", "/a b", .target), ("GET", "a", "/#", .target),
    ])
  func pseudo(method: String, authority: String, path: String, kind: RequestViolation.Kind) {
    #expect {
      try HTTP2Fields(method: method, scheme: "https", authority: authority, path: path)
    } throws: { ($0 as? RequestViolation)?.kind == kind }
  }

  @Test("Names are sent in lower case, pseudo-fields first, and repeated fields are kept")
  func bytes() throws {
    var head = try SessionLab.request("GET", "/a?b")
    try head.add("X-A", "1")
    try head.add("TE", "trailers")
    try head.add("x-empty", "")
    #expect(
      head.bytes == Array(":methodGET:schemehttps:authorityexample.com:path/a?bx-a1tetrailersx-empty".utf8))
    #expect(head.fields.map(\.nameLength) == [7, 7, 10, 5, 3, 2, 7])
    let lab = try SessionLab.ready()
    for _ in 0..<2 { #expect(lab.session.open(head, now: lab.now) != nil) }
    #expect(lab.send().count == 2)
  }

  @Test("TE: trailers is accepted in any case", arguments: ["trailers", "Trailers", "TRAILERS"])
  func trailersOfTE(value: String) throws {
    var head = try SessionLab.request()
    try head.add("te", value)
    #expect(head.fields.count == 5)
  }

  @Test("A CONNECT head has only method and authority as pseudo-fields")
  func connect() throws {
    let head = try HTTP2Fields(method: "CONNECT", scheme: nil, authority: "a:443", path: nil)
    #expect(head.bytes == Array(":methodCONNECT:authoritya:443".utf8))
    let lab = try SessionLab.ready()
    let stream = try #require(lab.session.open(head, body: .stream(length: nil), now: lab.now))
    lab.send()
    lab.receive([.head(200, on: 1), .data("pong".utf8, on: 1)])
    lab.provide(4, on: stream)
    #expect(lab.send() == [.data("aaaa".utf8, on: 1)])
    #expect(lab.bodies[1] == Array("pong".utf8))
  }

  @Test("A head may have more than a hundred fields")
  func many() throws {
    var head = try SessionLab.request()
    for index in 0..<150 { try head.add("x-\(index)", "\(index)") }
    let lab = try SessionLab.ready()
    let stream = try #require(lab.session.open(head, now: lab.now))
    #expect(lab.send().count == 1)
    lab.receive([.head(200, on: 1, ends: true)])
    #expect(lab.ending(stream) == .whole)
  }

  /// A reader of header blocks as in a server, with the compression tables of one connection.
  private final class ServerReader {
    private let decoder: OpaquePointer
    private var lines: [String] = []

    init() throws { decoder = try #require(cloopback_hpack_new()) }

    deinit { cloopback_hpack_free(decoder) }

    func read(_ block: [UInt8]) throws -> [String] {
      lines = []
      let isGood = cloopback_hpack_decode(
        decoder, block, block.count,
        { context, name, nameCount, value, valueCount in
          let reader = Unmanaged<ServerReader>.fromOpaque(context).takeUnretainedValue()
          let name = String(decoding: UnsafeBufferPointer(start: name, count: nameCount), as: UTF8.self)
          let value = String(decoding: UnsafeBufferPointer(start: value, count: valueCount), as: UTF8.self)
          reader.lines.append("\(name): \(value)")
        }, Unmanaged.passUnretained(self).toOpaque())
      #expect(isGood)
      return lines
    }
  }

  @Test("The server decodes the same fields, request for request")
  func read() throws {
    let lab = try SessionLab.ready()
    let reader = try ServerReader()
    for index in 0..<20 {
      var head = try HTTP2Fields(
        method: "PUT", scheme: "http", authority: "a.example:81", path: "/\(index)?q=%C3%BC")
      try head.add("X-Index", "\(index)")
      try head.add("x-long", String(repeating: "\(index % 3)", count: 3_000))
      try head.add("cookie", "a=\(index)", isSensitive: true)
      try Array("caf\u{e9}".unicodeScalars.map { UInt8($0.value) }).withUnsafeBufferPointer {
        try head.add("x-latin", $0)
      }
      let stream = try #require(lab.session.open(head, now: lab.now))
      let frames = lab.send()
      #expect(frames.map(\.type) == [1])
      let lines = try reader.read(frames[0].payload)
      #expect(
        lines == [
          ":method: PUT", ":scheme: http", ":authority: a.example:81", ":path: /\(index)?q=%C3%BC", "x-index: \(index)",
          "x-long: " + String(repeating: "\(index % 3)", count: 3_000), "cookie: a=\(index)", "x-latin: caf\u{FFFD}",
        ])
      lab.receive([.head(200, on: stream.number, ends: true)])
    }
  }

  @Test("Heads and trailers are split into as many frames as they need")
  func large() throws {
    let lab = try SessionLab.ready()
    let reader = try ServerReader()
    let value = String(repeating: "v", count: 70_000)
    var head = try SessionLab.request("POST")
    try head.add("x-large", value)
    let stream = try #require(lab.session.open(head, body: .stream(length: nil), now: lab.now))
    lab.provide(3, on: stream)
    var trailers = HTTP2Fields()
    try trailers.add("x-sum", value)
    lab.session.endBody(stream, trailers: trailers)
    let frames = lab.send()
    let count = frames.prefix { $0.type != 0 }.count
    #expect(count > 1 && frames.map(\.type) == ([1] + [UInt8](repeating: 9, count: count - 1) + [0, 1, 9, 9, 9]))
    try #require(frames.count > count + 1)
    #expect(frames.filter(\.ends) == [frames[count + 1]])
    #expect(try reader.read(frames[..<count].flatMap(\.payload)).last == "x-large: " + value)
    #expect(try reader.read(frames[(count + 1)...].flatMap(\.payload)) == ["x-sum: " + value])
    #expect(lab.session.requestPhase(of: stream) == .sent)
    lab.receive([.head(200, on: 1, ends: true)])
    #expect(lab.ending(stream) == .whole)
  }

  /// Adds a single field that is larger than the limit.
  private static func addLarge(to fields: inout HTTP2Fields) throws {
    try [UInt8](repeating: 0x76, count: HTTP2Fields.maximumBytes).withUnsafeBufferPointer {
      try fields.add("x-large", $0)
    }
  }

  @Test("A head beyond the limit ends its stream, and the server receives nothing of it")
  func largeHead() throws {
    let lab = try SessionLab.ready()
    var head = try SessionLab.request()
    #expect(!head.isTooLarge)
    try Self.addLarge(to: &head)
    #expect(head.isTooLarge)
    let stream = try #require(lab.session.open(head, now: lab.now))
    #expect(lab.send().isEmpty)
    guard case .broken(let violation)? = lab.ending(stream) else { Issue.record("\(lab.told)"); return }
    #expect(violation.kind == .requestFields && violation.message.hasPrefix("the request's head cannot be sent: "))
    let other = try lab.open()
    lab.receive([.head(200, on: other.number, ends: true)])
    #expect(lab.ending(other) == .whole && lab.session.loss == nil)
  }

  @Test("Trailers beyond the limit reset their stream")
  func largeTrailers() throws {
    let lab = try SessionLab.ready()
    let stream = try lab.upload(3, ends: false)
    var trailers = HTTP2Fields()
    try Self.addLarge(to: &trailers)
    lab.session.endBody(stream, trailers: trailers)
    let frames = lab.send()
    #expect(frames.filter(\.ends).isEmpty)
    #expect(frames.last?.type == 3 && frames.last?.number == HTTP2ErrorCode.cancel.rawValue)
    guard case .broken(let violation)? = lab.ending(stream) else { Issue.record("\(lab.told)"); return }
    #expect(violation.kind == .requestFields && violation.message.hasPrefix("the request's trailers cannot be sent: "))
    #expect(lab.session.streams.count == 0 && lab.session.loss == nil)
  }
}
