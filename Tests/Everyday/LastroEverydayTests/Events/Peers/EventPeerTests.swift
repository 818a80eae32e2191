// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroCurl
import LastroEveryday
import PeerSupport
import TestSupport
import Testing

@Suite("Event streams of a server on Python's library", .peers(.python), .timeLimit(.minutes(15)))
struct EventPeerTests {
  private struct Order: Decodable, Sendable { var number: Int }
  private struct Word: Decodable, Sendable { var text: String }

  private func request(
    _ path: String, method: String = "GET", body: RequestBody = .empty
  ) throws -> ResourceRequest {
    try ResourceRequest(method: method, url: "http://127.0.0.1:\(try Peers.python.port)\(path)", body: body)
  }

  /// Returns a stack without a proxy, on the system's clock.
  private func stack() throws -> CurlNetworkStack {
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    return try CurlNetworkStack(engine)
  }

  @Test("Events continue across clean ends until a 204")
  func orders() async throws {
    let stream = try stack().events(.raw(try request("/orders/7")))
    let (events, error) = await stream.read()
    #expect(error == nil)
    #expect(events.map(\.lastEventID) == (1...9).map(String.init))
    #expect(events.allSatisfy { $0.name == "order" })
  }

  @Test("Events continue after cut connections, without duplicates or gaps")
  func cut() async throws {
    let orders = try stack().events(.raw(try request("/cut/7"))).decoding(Order.self)
    let (elements, error) = await orders.outcome()
    #expect(error == nil)
    #expect(elements.map(\.number) == Array(1...8))
  }

  @Test("A gzip-coded stream delivers each event when it was flushed")
  func gzip() async throws {
    let stack = try stack()
    let name = "\(UInt64.random(in: 0 ... .max))"
    var events = stack.events(.raw(try request("/gzip/\(name)")), maximumReconnections: 0).makeAsyncIterator()
    for number in 0..<3 {
      // The server sends the next event only after this request.
      _ = try await stack.fetch(.raw(try request("/pass/\(name)")))
      #expect(try await events.next()?.data == "\(number)")
    }
    #expect(try await events.next() == nil)
  }

  private func posts(_ name: String) async throws -> String {
    String(decoding: try await stack().fetch(.raw(try request("/asked/\(name)"))).value, as: UTF8.self)
  }

  @Test("A POST is complete with its mark, and sent once")
  func chat() async throws {
    let name = "\(UInt64.random(in: 0 ... .max))"
    let request = try request("/chat/\(name)", method: "POST", body: .raw(Data("half a word".utf8)))
    let words = try stack().events(.raw(request)).decoding(Word.self, until: .data("[DONE]"))
    let (elements, error) = await words.outcome()
    #expect(error == nil)
    #expect(elements.map(\.text) == ["half", "a", "word"])
    #expect(try await posts(name) == "1")
  }

  @Test("A POST that ends cleanly without its mark is incomplete, and sent once")
  func half() async throws {
    let name = "\(UInt64.random(in: 0 ... .max))"
    let request = try request("/half/\(name)", method: "POST", body: .raw(Data("half a word".utf8)))
    let words = try stack().events(.raw(request)).decoding(Word.self, until: .data("[DONE]"))
    let (elements, error) = await words.outcome()
    #expect(error?.words == "response/truncated_stream")
    #expect(elements.map(\.text) == ["half", "a"])
    #expect(try await posts(name) == "1")
  }

  @Test("JSON Lines are delivered as they arrive")
  func lines() async throws {
    let request = try request("/lines/x", method: "POST", body: .raw(Data("a b c".utf8)))
    let lines = try stack().jsonLines(Word.self, of: RawHTTPResource.raw(request))
    let (elements, error) = await lines.outcome()
    #expect(error == nil)
    #expect(elements.map(\.text) == ["a", "b", "c"])
  }
}
