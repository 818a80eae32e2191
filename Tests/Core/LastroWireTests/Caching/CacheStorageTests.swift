// SPDX-License-Identifier: Apache-2.0

import LastroWire
import Testing

@Suite("Storing responses, and the effect of a 304 or another method")
struct CacheStorageTests {
  static func mayStore(
    _ control: String, status: Int = 200, request: CacheRequest = CacheRequest(), rules: CacheRules = CacheRules()
  ) -> Bool {
    let entry = CacheEntry.test("Cache-Control: \(control)", "ETag: \"a\"", status: status)
    return CacheStorage.mayStore(request, entry, rules)
  }

  @Test(
    "Status and directives decide about storing (RFC 9111 §3)",
    arguments: [
      ("", 200, true), ("no-store", 200, false), ("max-age=60, no-store", 200, false), ("max-age=60", 299, true),
      ("max-age=60", 400, true), ("max-age=60", 599, true), ("", 400, false), ("private", 400, true),
      ("public", 400, true), ("max-age=60", 206, false), ("max-age=60", 304, false), ("max-age=60", 416, false),
      ("max-age=60", 103, false), ("max-age=60, no-store, must-understand", 200, true),
      ("max-age=60, must-understand", 599, false),
    ])
  func statuses(control: String, status: Int, expected: Bool) {
    #expect(Self.mayStore(control, status: status) == expected)
  }

  @Test("Only responses to GET without no-store are stored")
  func requests() {
    for method in ["HEAD", "POST", "PUT", "QUERY"] {
      #expect(!Self.mayStore("max-age=60", request: CacheRequest(method: method)))
    }
    let noStore = CacheRequest(fields: CacheFields([.init("Cache-Control", "no-store")]))
    #expect(!Self.mayStore("max-age=60", request: noStore))
    #expect(!Self.mayStore("max-age=60", request: CacheRequest(wish: .bypass)))
  }

  @Test("A response that can be neither reused nor validated is not stored")
  func useless() {
    #expect(!CacheStorage.mayStore(CacheRequest(), .test("Content-Type: a/b"), CacheRules()))
    #expect(!CacheStorage.mayStore(CacheRequest(), .test("Cache-Control: max-age=0"), CacheRules()))
    #expect(CacheStorage.mayStore(CacheRequest(), .test("Last-Modified: x"), CacheRules()))
  }

  @Test("A shared cache stores nothing private, and responses to credentials only where permitted (§3.5)")
  func shared() {
    let rules = CacheRules(isShared: true)
    let authorized = CacheRequest(fields: CacheFields([.init("Authorization", "Bearer x")]))
    #expect(!Self.mayStore("private, max-age=60", rules: rules))
    #expect(Self.mayStore("max-age=60", rules: rules))
    #expect(!Self.mayStore("max-age=60", request: authorized, rules: rules))
    for control in ["public, max-age=60", "must-revalidate, max-age=60", "s-maxage=60"] {
      #expect(Self.mayStore(control, request: authorized, rules: rules))
    }
    #expect(Self.mayStore("private, max-age=60", request: authorized))
  }

  @Test("A response with a star or too many names in Vary is not stored")
  func vary() {
    for value in ["*", "Accept, *", " , *,"] {
      #expect(!CacheStorage.mayStore(CacheRequest(), .test("Vary: \(value)", "ETag: \"a\""), CacheRules()))
    }
    let many = (0...VaryRule.maximumNames).map { "a\($0)" }.joined(separator: ",")
    #expect(VaryRule(CacheFields([.init("Vary", many)])).matchesNone)
  }

  @Test("Selecting fields distinguish absent from empty, ignore blanks, and respect order only where it matters")
  func selection() {
    func text(_ vary: String, _ lines: (String, String)...) -> String {
      VaryRule(CacheFields([.init("Vary", vary)])).selection(from: CacheFields(lines.map { .init($0.0, $0.1) }))
    }
    #expect(text("Foo") != text("Foo", ("Foo", "")))
    #expect(text("Foo", ("foo", "1, 2")) == text("FOO", ("Foo", "1"), ("Foo", " 2")))
    #expect(text("Foo", ("Foo", "1,2")) != text("Foo", ("Foo", "2,1")))
    #expect(text("Foo", ("Foo", "a")) != text("Foo", ("Foo", "A")))
    #expect(
      text("Accept-Encoding", ("Accept-Encoding", "gzip, BR"))
        == text("Accept-Encoding", ("Accept-Encoding", "br,gzip")))
    #expect(text("Accept", ("Accept", "a/b;q=0.5, c/d")) != text("Accept", ("Accept", "c/d, a/b;q=0.5")))
    #expect(text("Foo, Bar", ("Bar", "1")) == text("bar, foo, foo", ("Bar", "1")))
    #expect(text("Foo", ("Foo", "1"), ("Other", "2")) == text("Foo", ("Foo", "1")))
  }

  @Test("Connection fields are removed, and others are kept line by line")
  func fields() {
    let all = CacheFields(
      [
        ("Connection", "X-Own, close"), ("X-Own", "1"), ("Keep-Alive", "1"), ("Transfer-Encoding", "chunked"),
        ("TE", "x"), ("Upgrade", "x"), ("Proxy-Connection", "x"), ("Proxy-Authenticate", "x"),
        ("Proxy-Authentication-Info", "x"), ("Proxy-Authorization", "x"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"),
        ("Trailer", "x"),
      ].map { CacheFields.Line($0.0, $0.1) })
    let kept = CacheStorage.fieldsToStore(all, received: .seconds(1_000))
    #expect(kept.lines.map(\.name) == ["Set-Cookie", "Set-Cookie", "Trailer", "Date"])
    #expect(kept.first("date") == HTTPDate.text(1_000))
  }

  @Test("A 304 replaces the fields that it contains, except those that describe the body")
  func freshening() {
    let entry = CacheEntry.test(
      "ETag: \"a\"", "Content-Length: 10", "Content-Encoding: gzip", "X: 1", "X: 2", "Y: 1", "Age: 50")
    let fields = CacheFields(
      [("Content-Length", "99"), ("Content-Encoding", "br"), ("X", "3"), ("Z", "4"), ("Connection", "Z")].map {
        CacheFields.Line($0.0, $0.1)
      })
    let new = CacheFreshening.freshened(entry, by: fields, requested: .seconds(2_000), received: .seconds(2_001))
    #expect(new.fields.first("content-length") == "10" && new.fields.first("content-encoding") == "gzip")
    #expect(new.fields.values("x") == ["3"] && new.fields.first("y") == "1")
    #expect(!new.fields.contains("z") && !new.fields.contains("age"))
    #expect(new.requested == .seconds(2_000) && new.received == .seconds(2_001))
  }

  @Test("The validators of a 304 select the stored responses to update (§4.3.4)")
  func matches() {
    let entries: [CacheEntry] = [
      .test("ETag: \"a\"", "Date: \(HTTPDate.text(10))"), .test("ETag: \"a\"", "Date: \(HTTPDate.text(20))"),
      .test("ETag: W/\"w\"", "Date: \(HTTPDate.text(10))"), .test("ETag: W/\"w\"", "Date: \(HTTPDate.text(20))"),
      .test("Last-Modified: x"),
    ]
    func matches(_ lines: (String, String)...) -> [Int] {
      CacheFreshening.matches(CacheFields(lines.map { .init($0.0, $0.1) }), among: entries, asked: 0)
    }
    #expect(matches(("ETag", "\"a\"")) == [1, 0])
    #expect(matches(("ETag", "W/\"w\"")) == [3])
    #expect(matches(("ETag", "W/\"a\"")) == [1])
    #expect(matches(("Last-Modified", "x")) == [4])
    #expect(matches(("ETag", "\"other\"")) == [])
    #expect(matches() == [])
    #expect(CacheFreshening.matches(CacheFields(), among: [entries[4]], asked: 0) == [0])
  }

  @Test("A response to HEAD agrees with a stored one if none of its validators differs")
  func heads() {
    let entry = CacheEntry.test("ETag: \"a\"", "Content-Length: 10")
    #expect(CacheFreshening.agrees(CacheFields([.init("ETag", "\"a\""), .init("Content-Length", "10")]), with: entry))
    #expect(!CacheFreshening.agrees(CacheFields([.init("ETag", "\"b\"")]), with: entry))
    #expect(!CacheFreshening.agrees(CacheFields([.init("Content-Length", "11")]), with: entry))
    #expect(CacheFreshening.agrees(CacheFields(), with: entry))
  }

  @Test(
    "Unsafe methods and successful statuses invalidate (§4.4)",
    arguments: [
      ("POST", 200, true), ("PUT", 204, true), ("DELETE", 303, true), ("M-SEARCH", 200, true), ("PATCH", 404, false),
      ("POST", 500, false), ("GET", 200, false), ("HEAD", 200, false), ("OPTIONS", 200, false), ("TRACE", 200, false),
      ("QUERY", 200, false), ("POST", 101, false),
    ])
  func invalidation(method: String, status: Int, expected: Bool) {
    #expect(CacheInvalidation.isCaused(byMethod: method, status: status) == expected)
  }
}
