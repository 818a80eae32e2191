// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Pages", .timeLimit(.minutes(15)))
struct PageSequenceTests {
  struct Cursored: Codable, Sendable {
    var data: [Int]
    var next: String?
  }

  typealias Numbers = HTTPResource<[Int], TextAPIError>

  private static let url = "https://api.example.org/items?per_page=2"

  private func link(_ target: String, _ body: String) -> ScriptedTransport.Step {
    .respond(status: .ok, headers: [.link: "<\(target)>; rel=\"next\""], body: body)
  }

  private func numbers(
    _ transport: ScriptedTransport, url: String = url, headers: RawHeaders = [:], maximumPages: Int = 1000,
    origins: Set<Origin> = [], fetchesAhead: Bool = false
  ) -> PageSequence<[Int], TextAPIError> {
    TransportNetworkStack(transport).pages(
      Numbers.get(url, headers: headers), by: .link, maximumPages: maximumPages, origins: origins,
      fetchesAhead: fetchesAhead)
  }

  /// Returns the pages, and the stage and code of the error that ended them, if any.
  private func all<Page, E>(_ pages: PageSequence<Page, E>) async -> (pages: [Page], end: String?) {
    var read: [Page] = []
    do throws(HTTPFetchError<E>) {
      for try await page in pages { read.append(page.value) }
      return (read, nil)
    } catch {
      return (read, error.words)
    }
  }

  private func targets(_ transport: ScriptedTransport) -> [String] {
    transport.requests.map { "\($0.head.authority ?? "")\($0.head.path ?? "")" }
  }

  @Test("Links are followed, relative to the responding URL, with the request's own fields")
  func links() async throws {
    let transport = ScriptedTransport([
      link("https://api.example.org/items?page=2", "[1,2]"), link("?page=3", "[3,4]"), link("/more/4", "[5]"),
      .redirect(to: "/moved/here"), link("5", "[6]"), .answer(200, body: "[7]"),
    ])
    let read = await all(numbers(transport, headers: ["X-Own": "1"]))
    #expect(read.pages == [[1, 2], [3, 4], [5], [6], [7]] && read.end == nil)
    #expect(
      targets(transport)
        == [
          "/items?per_page=2", "/items?page=2", "/items?page=3", "/more/4", "/moved/here", "/moved/5",
        ].map { "api.example.org\($0)" })
    for request in transport.requests { #expect(RawHeaders(request.head.headerFields)["X-Own"] == "1") }
    try transport.verify()
  }

  @Test(
    "A page without a valid next link is the last",
    arguments: [
      "<?page=2>; rel=prev", "<?page=2>", "<?page=2>; rel=next; anchor=\"/other\"", "<?page=2>; rel=prev; rel=next",
      "<?page=2>; rel=next; anchor=\"#part\"", "junk", "<?page=2>; title=\"rel=next\"",
    ])
  func otherLinks(field: String) async throws {
    let transport = ScriptedTransport([.respond(status: .ok, headers: [.link: field], body: "[1]")])
    #expect(await all(numbers(transport)).pages == [[1]])
    #expect(transport.requests.count == 1)
  }

  @Test("An anchor that is the page itself is accepted, and so is another requested relation")
  func anchors() async throws {
    for field in ["<?page=2>; rel=next; anchor=\"/items?per_page=2\"", "<?page=2>; rel=\"last NEXT\""] {
      let transport = ScriptedTransport([
        .respond(status: .ok, headers: [.link: field], body: "[1]"), .answer(200, body: "[2]"),
      ])
      #expect(await all(numbers(transport)).pages == [[1], [2]])
    }
    let transport = ScriptedTransport([
      .respond(status: .ok, headers: [.link: "<?page=1>; rel=prev"], body: "[2]"), .answer(200, body: "[1]"),
    ])
    let pages = TransportNetworkStack(transport).pages(Numbers.get(Self.url), by: .link(relation: "PREV"))
    #expect(await all(pages).pages == [[2], [1]])
  }

  @Test(
    "A link that would send credentials elsewhere, or is invalid, is not followed",
    arguments: [
      ("https://evil.example.org/", "request/foreign_page"), ("//evil.example.org/", "request/foreign_page"),
      ("https://api.example.org:8443/", "request/foreign_page"),
      ("http://api.example.org/", "request/insecure_redirect"),
      ("ftp://api.example.org/", "request/invalid_url"), ("https://a@api.example.org/", "request/invalid_url"),
      ("", "request/pagination_loop"), ("?per_page=2", "request/pagination_loop"), ("#x", "request/pagination_loop"),
    ])
  func guards(target: String, end: String) async throws {
    let transport = ScriptedTransport([link(target, "[1]"), .answer(200, body: "[2]")])
    let read = await all(numbers(transport))
    #expect(read.pages == [[1]] && read.end == end)
    #expect(transport.requests.count == 1)
    var iterator = numbers(ScriptedTransport([link(target, "[1]")])).makeAsyncIterator()
    #expect(try await iterator.next()?.next == nil)
  }

  @Test("A declared origin is followed, except over http")
  func declared() async throws {
    let origins: Set<Origin> = [try Origin("https://other.example.org"), try Origin("http://other.example.org")]
    let transport = ScriptedTransport([link("https://other.example.org/2", "[1]"), .answer(200, body: "[2]")])
    #expect(await all(numbers(transport, origins: origins)).pages == [[1], [2]])
    let plain = ScriptedTransport([link("http://other.example.org/2", "[1]")])
    #expect(await all(numbers(plain, origins: origins)).end == "request/insecure_redirect")
  }

  @Test("A page at a declared origin may link to the resource's own, and to no third one")
  func ownOrigin() async throws {
    let origins: Set<Origin> = [try Origin("https://other.example.org")]
    let back = ScriptedTransport([
      link("https://other.example.org/2", "[1]"), link("https://api.example.org/3", "[2]"), .answer(200, body: "[3]"),
    ])
    let read = await all(numbers(back, origins: origins))
    #expect(read.pages == [[1], [2], [3]] && read.end == nil)
    let third = ScriptedTransport([
      link("https://other.example.org/2", "[1]"), link("https://third.example.org/3", "[2]"),
    ])
    #expect(await all(numbers(third, origins: origins)).end == "request/foreign_page")
  }

  @Test("A cycle of pages ends where it closes")
  func loops() async throws {
    let transport = ScriptedTransport([link("?page=2", "[1]"), link("?page=3", "[2]"), link("?page=2", "[3]")])
    let read = await all(numbers(transport))
    #expect(read.pages == [[1], [2], [3]] && read.end == "request/pagination_loop")
  }

  @Test("No more pages are fetched than the limit allows")
  func maximum() async throws {
    let transport = ScriptedTransport { (request, number) throws(TransportError) in
      TransferResponse(
        head: HTTPResponse(status: .ok, headerFields: [.link: "<?page=\(number)>; rel=next"]),
        body: ResponseBody(Data("[1]".utf8)))
    }
    let read = await all(numbers(transport, maximumPages: 3))
    #expect(read.pages.count == 3 && read.end == "request/too_many_pages")
    #expect(await all(numbers(transport)).pages.count == 1000)
  }

  @Test("A cursor is set in its query item, replacing an existing one")
  func cursors() async throws {
    let pages = ["{\"data\":[1],\"next\":\"a b&c\"}", "{\"data\":[2],\"next\":\"d\"}", "{\"data\":[3],\"next\":\"\"}"]
    let transport = ScriptedTransport(pages.map { .answer(200, body: $0) })
    let first = HTTPResource<Cursored, TextAPIError>.get("https://api.example.org/items?c%75rsor=0&x=1&cursor=9")
    let read = await all(TransportNetworkStack(transport).pages(first, by: .cursor(\.next, into: "cursor")))
    #expect(read.pages.map(\.data) == [[1], [2], [3]] && read.end == nil)
    #expect(
      targets(transport).dropFirst() == [
        "api.example.org/items?x=1&cursor=a%20b%26c", "api.example.org/items?x=1&cursor=d",
      ])
    let same = ScriptedTransport(repeatingLast: .answer(200, body: pages[0]))
    let end = await all(TransportNetworkStack(same).pages(first, by: .cursor(\.next, into: "cursor")))
    #expect(end.pages.count == 2 && end.end == "request/pagination_loop")
  }

  @Test("A token is copied from the response's field into the request's")
  func tokens() async throws {
    let transport = ScriptedTransport([
      .answer(200, fields: [.continuation: "t1"], body: "[1]"), .answer(200, body: "[2]"),
    ])
    let pages = TransportNetworkStack(transport).pages(Numbers.get(Self.url), by: .token(header: "x-continuation"))
    #expect(await all(pages).pages == [[1], [2]])
    #expect(transport.requests.map { RawHeaders($0.head.headerFields)["X-Continuation"] } == [nil, "t1"])
  }

  @Test("Offsets advance until a short page")
  func offsets() async throws {
    for (bodies, count) in [(["[1,2]", "[3]"], 2), (["[1,2]", "[]"], 2), (["[]"], 1), (["[1]"], 1)] {
      let transport = ScriptedTransport(bodies.map { .answer(200, body: $0) })
      let pages = TransportNetworkStack(transport).pages(Numbers.get("https://api.example.org/"), by: .offset(size: 2))
      #expect(await all(pages).pages.count == count)
      #expect(
        targets(transport) == (0..<count).map { "api.example.org/?limit=2&offset=\(2 * $0)" })
    }
  }

  @Test("A custom closure decides, and its error ends the sequence")
  func custom() async throws {
    let transport = ScriptedTransport([.answer(200, body: "[1]"), .answer(200, body: "[2]")])
    let pages = TransportNetworkStack(transport).pages(
      Numbers.get(Self.url),
      by: .custom { page, _, index in
        if page == [2] { throw TestError(name: "enough") }
        return .query(["page": "\(index + 2)"])
      })
    let read = await all(pages)
    #expect(read.pages == [[1], [2]] && read.end == "request/request_making_failed")
    #expect(targets(transport).last == "api.example.org/items?per_page=2&page=2")
  }

  @Test("The next page is fetched on demand, or one ahead while the caller works")
  func laziness() async throws {
    let steps = [link("?page=2", "[1]"), link("?page=3", "[2]"), .answer(200, body: "[3]")]
    let lazy = ScriptedTransport(steps)
    var iterator = numbers(lazy).makeAsyncIterator()
    #expect(lazy.requests.count == 0)
    #expect(try await iterator.next()?.value == [1])
    #expect(lazy.requests.count == 1)
    let eager = ScriptedTransport(steps)
    iterator = numbers(eager, fetchesAhead: true).makeAsyncIterator()
    #expect(try await iterator.next()?.value == [1])
    #expect(await eventually { eager.requests.count == 2 })
    #expect(try await iterator.next()?.value == [2])
    #expect(try await iterator.next()?.value == [3])
    #expect(try await iterator.next() == nil)
    #expect(try await iterator.next() == nil)
  }

  @Test("A prefetched page is cancelled with its sequence")
  func abandoned() async throws {
    let transport = ScriptedTransport([link("?page=2", "[1]"), .hang])
    do {
      var iterator = numbers(transport, fetchesAhead: true).makeAsyncIterator()
      _ = try await iterator.next()
      #expect(await eventually { transport.runningRequests == 1 })
    }
    #expect(await eventually { transport.runningRequests == 0 })
  }

  @Test("Cancelling throws the cancelled error, also for a prefetched page", arguments: [false, true])
  func cancelled(fetchesAhead: Bool) async throws {
    let transport = ScriptedTransport([link("?page=2", "[1]"), .hang])
    let pages = numbers(transport, fetchesAhead: fetchesAhead)
    let task = Task { await all(pages) }
    #expect(await eventually { transport.runningRequests == 1 && transport.requests.count == 2 })
    task.cancel()
    let read = await task.value
    #expect(read.pages == [[1]] && read.end == "cancelled/cancelled")
    #expect(await eventually { transport.runningRequests == 0 })
  }

  @Test("A failed page ends the sequence, and the next of the page before, also a stored one, continues there")
  func resumed() async throws {
    let transport = ScriptedTransport([link("?page=2", "[1]"), .answer(500, body: "down"), .answer(200, body: "[2]")])
    let stack = TransportNetworkStack(transport)
    var iterator = stack.pages(Numbers.get(Self.url), by: .link).makeAsyncIterator()
    let first = try #require(try await iterator.next())
    let error = await #expect(throws: HTTPFetchError<TextAPIError>.self) { try await iterator.next() }
    #expect(error?.apiError?.text == "down")
    #expect(try await iterator.next() == nil)
    let kept = try JSONEncoder().encode(first.next)
    let point = try JSONDecoder().decode(NextPage.self, from: kept)
    #expect(point == first.next && point.index == 1)
    var pages: [FetchedPage<[Int]>] = []
    for try await page in stack.pages(Numbers.get(Self.url), by: .link, from: point) { pages.append(page) }
    #expect(pages.map(\.value) == [[2]] && pages.last?.next == nil)
    #expect(targets(transport).last == "api.example.org/items?page=2")
  }

  @Test(
    "A stored page at an undeclared origin, or at http, is not requested",
    arguments: [
      ("https://evil.example.org/2", "request/foreign_page"), ("http://api.example.org/2", "request/insecure_redirect"),
    ])
  func forged(url: String, words: String) async throws {
    let point = try JSONDecoder().decode(
      NextPage.self, from: JSONEncoder().encode(NextPage(.url(url), index: 1)))
    let transport = ScriptedTransport([.answer(200, body: "[2]")])
    let read = await all(TransportNetworkStack(transport).pages(Numbers.get(Self.url), by: .link, from: point))
    #expect(read.pages == [] && read.end == words && transport.requests.isEmpty)
  }

  @Test("Each page has its own retries and ledger")
  func retries() async throws {
    let transport = ScriptedTransport([.answer(503), link("?page=2", "[1]"), .answer(503), .answer(200, body: "[2]")])
    let stack = TransportNetworkStack(transport, interceptors: [RetryInterceptor(policy: .maxRetries(1))])
    var attempts: [Int] = []
    for try await page in stack.pages(Numbers.get(Self.url), by: .link) {
      attempts.append(page.response.attempts.count)
    }
    #expect(attempts == [2, 2])
    #expect(targets(transport).last == "api.example.org/items?page=2")
  }

  @Test("The total time limit ends a page, or the sequence before one")
  func total() async throws {
    let clock = ManualClock()
    let slow = ScriptedTransport(
      [.slow(clock, .seconds(11), headers: [.link: "<?page=2>; rel=next"], body: "[1]"), .answer(200, body: "[2]")],
      time: clock.timeSource)
    let stack = TransportNetworkStack(slow, time: clock.timeSource)
    let read = await all(stack.pages(Numbers.get(Self.url), by: .link, total: .seconds(10)))
    #expect(read.pages == [[1]] && read.end == "timeout/total_timeout")
    let hanging = ScriptedTransport([link("?page=2", "[1]"), .hang], time: clock.timeSource)
    let pages = TransportNetworkStack(hanging, time: clock.timeSource).pages(
      Numbers.get(Self.url), by: .link, total: .seconds(10))
    let task = Task { await all(pages) }
    #expect(await eventually { hanging.requests.count == 2 && clock.nextLimit != nil })
    clock.advance(by: .seconds(10))
    #expect(await task.value.end == "timeout/total_timeout")
    #expect(await eventually { hanging.runningRequests == 0 })
  }

  @Test("A sequence has the limits of its parameters")
  func parameters() throws {
    let stack = TransportNetworkStack(ScriptedTransport([]))
    let origins: Set<Origin> = [try Origin("https://b.example")]
    let fetcher = stack.pages(
      Numbers.get(Self.url), by: .link, maximumPages: 2, total: .seconds(3), origins: origins, fetchesAhead: true
    ).fetcher
    #expect(fetcher.maximumPages == 2 && fetcher.total == .seconds(3))
    #expect(fetcher.origins == origins && fetcher.fetchesAhead)
  }

  @Test("Elements are returned one by one, across empty pages")
  func items() async throws {
    let transport = ScriptedTransport([link("?page=2", "[1,2]"), link("?page=3", "[]"), .answer(200, body: "[3]")])
    var items: [Int] = []
    for try await item in numbers(transport).items(\.self) { items.append(item) }
    #expect(items == [1, 2, 3])
    let foreign = ScriptedTransport([link("https://evil.example.org/", "[4]")])
    var refused = numbers(foreign).items(\.self).makeAsyncIterator()
    #expect(try await refused.next() == 4)
    await #expect(throws: HTTPFetchError<TextAPIError>.self) { try await refused.next() }
    let cursored = ScriptedTransport([.answer(200, body: "{\"data\":[1,2]}")])
    let first = HTTPResource<Cursored, TextAPIError>.get(Self.url)
    items = []
    for try await item in TransportNetworkStack(cursored).pages(first, by: .link).items(\.data) { items.append(item) }
    #expect(items == [1, 2])
  }
}

extension HTTPField.Name {
  // Forced: letters are a field name.
  // swift-format-ignore: NeverForceUnwrap
  static let link = HTTPField.Name("Link")!
  // swift-format-ignore: NeverForceUnwrap
  static let continuation = HTTPField.Name("X-Continuation")!
}
