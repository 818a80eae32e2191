// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroHAR
@testable import LastroObservability

@Suite("HTTP archives", .timeLimit(.minutes(15)))
struct HARTests {
  let clock = ManualClock(autoAdvance: true)

  private func stack(_ recorder: HARRecorder, _ steps: ScriptedTransport.Step...) -> TransportNetworkStack {
    .observed(ScriptedTransport(steps), by: recorder, clock: clock, interceptors: [AlwaysRetry()]) {
      $0.maximumAttempts = 3
    }
  }

  @Test("Every attempt and every redirect is an entry")
  func everyAttemptAndRedirectIsAnEntry() async throws {
    let recorder = HARRecorder()
    let stack = stack(
      recorder, .redirect(to: "/b"), .respond(status: 503, body: "busy"),
      .fail(TransportError(stage: .connect, code: .connectFailed, message: "nobody there", hint: "knock")),
      .slow(clock, .milliseconds(1500), headers: [.contentType: "application/json"], body: #"{"name":"x"}"#))
    var options = RequestOptions()
    options.operation = "getThing"
    let response = try await stack.fetch(.test(url: "https://example.com/a?q=a+b&c=%C3%A9", options: options)).response
    let entries = recorder.archive().log.entries
    #expect(entries.map(\.response.status) == [302, 503, 0, 200])
    #expect(entries.map(\.attempt) == [1, 1, 2, 3])
    #expect(entries.map(\.hop) == [0, 1, 0, 0])
    #expect(entries.allSatisfy { $0.call == response.ledger.callID && $0.operation == "getThing" })
    #expect(entries[0].request.url == "https://example.com/a?q=a+b&c=%C3%A9")
    #expect(
      entries[0].request.queryString == [.init(name: "q", value: "a b"), .init(name: "c", value: "é")])
    #expect(entries[0].response.redirectURL == "/b")
    #expect(entries[1].request.url == "https://example.com/b")
    #expect(
      entries[2].error
        == HAR.Failure(
          stage: "connect", code: "connect_failed", message: "nobody there", hint: "knock", requestSent: false))
    #expect(
      entries[3].response.content
        == HAR.Content(
          size: 12, mimeType: "application/json", text: #"{"name":"x"}"#))
    #expect(entries[3].startedDateTime == "2001-09-09T01:46:42.000Z")
    #expect(entries[3].timings == HAR.Timings(wait: 1500))
    #expect(entries[3].time == 1500)
    #expect(recorder.archive(forCall: response.ledger.callID) == recorder.archive())
    #expect(recorder.archive(forCall: 0).log.entries.isEmpty)
  }

  @Test("An archive has the required members, and additional ones begin with an underscore")
  func whatTheFormatRequiresIsThere() async throws {
    let recorder = HARRecorder()
    let stack = stack(
      recorder, .fail(.timeout, .connectTimeout),
      .respond(status: 200, headers: [.setCookie: "a=b; Path=/; HttpOnly"], body: Data([0xFF, 0])))
    _ = try await stack.fetch(.test(.put, fields: [.cookie: "x=1; y=2"], body: .json(Model(name: "n"))))
    let json = try JSONTree(recorder.har())
    let log = try json["log"]
    #expect(try log["version"].text == "1.2")
    #expect(try log["creator"].keys.isSuperset(of: ["name", "version"]))
    let entries = try log["entries"].items
    #expect(entries.count == 2)
    for entry in entries {
      #expect(entry.keys.isSuperset(of: ["startedDateTime", "time", "request", "response", "cache", "timings"]))
      let request = try entry["request"]
      #expect(
        request.keys.isSuperset(of: [
          "method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize",
        ]))
      #expect(try request["postData"].keys.isSuperset(of: ["mimeType", "text"]))
      #expect(try request["cookies"].items.count == 2)
      let response = try entry["response"]
      #expect(
        response.keys.isSuperset(of: [
          "status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL", "headersSize",
          "bodySize",
        ]))
      #expect(try response["content"].keys.isSuperset(of: ["size", "mimeType"]))
      let timings = try entry["timings"]
      for name in ["send", "wait", "receive"] { #expect(try timings[name].number >= 0) }
      let phases = try ["blocked", "dns", "connect", "send", "wait", "receive"].map { try timings[$0].number }
      #expect(try entry["time"].number == phases.filter { $0 > 0 }.reduce(0, +))
      for case let name in entry.keys
      where ![
        "startedDateTime", "time", "request", "response", "cache", "timings", "connection", "serverIPAddress",
        "comment", "pageref",
      ].contains(name) {
        #expect(name.hasPrefix("_"), "\(name) is not a member of the format")
      }
    }
    #expect(try entries[1]["response"]["cookies"].items[0]["httpOnly"].flag)
    #expect(try entries[1]["response"]["content"]["encoding"].text == "base64")
    #expect(try entries[1]["response"]["content"]["text"].text == "/wA=")
    #expect(try HAR(json: recorder.har()) == recorder.archive())
  }

  @Test("Timings are the phases of the transfer, without connecting if a connection was reused")
  func timingsAreThePhasesOfTheTransfer() {
    let fresh = TransferFacts(
      timings: .init(
        nameLookup: .milliseconds(5), connect: .milliseconds(15), tls: .milliseconds(45),
        requestStart: .milliseconds(46), firstByte: .milliseconds(146), total: .milliseconds(156),
        queued: .milliseconds(3)))
    let timings = HAR.Timings(fresh, elapsed: .zero)
    #expect(
      timings == HAR.Timings(blocked: 4, dns: 5, connect: 40, send: 0, wait: 100, receive: 10, ssl: 30))
    #expect(timings.total == 159)
    let pooled = TransferFacts(connectionReused: true, timings: fresh.timings)
    #expect(
      HAR.Timings(pooled, elapsed: .zero) == HAR.Timings(blocked: 49, send: 0, wait: 100, receive: 10))
    #expect(HAR.Timings(nil, elapsed: .milliseconds(7)) == HAR.Timings(wait: 7))
  }

  @Test("Secrets in URLs, header fields, cookies and bodies are masked")
  func secretsAreMasked() async throws {
    let recorder = HARRecorder()
    let stack = stack(
      recorder, .redirect(to: "https://example.com/next?code=SECRETSECRET"),
      .respond(
        status: 200, headers: [.setCookie: "sid=SECRETSECRET", .contentType: "application/json"],
        body: #"{"access_token":"SECRETSECRET","n":1}"#))
    var options = RequestOptions()
    options.sensitiveQueryItems = ["who"]
    options.sensitiveHeaders = [try #require(.init("X-Mine"))]
    _ = try await stack.fetch(
      .test(
        .post, url: "https://example.com/a?token=SECRETSECRET&who=SECRETSECRET&q=1",
        fields: [
          .authorization: "Bearer SECRETSECRET", .cookie: "a=SECRETSECRET",
          try #require(.init("X-Mine")): "SECRETSECRET",
        ], body: .form(["password": "SECRETSECRET", "user": "me"]), options: options))
    let text = String(decoding: try recorder.har(), as: UTF8.self)
    #expect(!text.contains("SECRETSECRET"))
    #expect(text.contains("password=***&user=me"))
    #expect(text.contains("?token=***&who=***&q=1"))
    #expect(text.contains(#"{\"access_token\":\"***\",\"n\":1}"#))
  }

  @Test("A secret that a server echoes in unusual places is masked there too")
  func whatAServerRepeatsInOddPlacesIsMasked() async throws {
    let recorder = HARRecorder()
    let echo = ScriptedTransport.Step.respond(
      status: .init(code: 200, reasonPhrase: "PLANTED-1 is fine"),
      headers: [
        .contentType: "text/plain; x=PLANTED-1",
        .setCookie: "PLANTED-1=a; Path=/PLANTED-1; Domain=PLANTED-1.example", try #require(.init("PLANTED-1")): "b",
      ])
    var options = RequestOptions()
    options.secrets = ["PLANTED-1"]
    options.operation = "get PLANTED-1"
    _ = try await stack(recorder, echo).fetch(
      .test(.put, fields: [.cookie: "PLANTED-1=x"], body: .raw("b"), options: options))
    let text = String(decoding: try recorder.har(), as: UTF8.self)
    #expect(!text.contains("PLANTED"))
    let response = try #require(recorder.archive().log.entries.first).response
    #expect(response.statusText == "*** is fine" && response.content.mimeType == "text/plain; x=***")
    #expect(response.cookies == [HAR.Cookie(name: "***", value: "***", path: "/***", domain: "***.example")])
  }

  @Test("A secret of the request's body is masked in the response")
  func secretsOfABodyAreMaskedInTheAnswer() async throws {
    let recorder = HARRecorder()
    let stack = stack(recorder, .respond(status: 200, body: "you said PLANTED-2"))
    _ = try await stack.fetch(.test(.post, body: .form(["a": "b"], secrets: ["note": "PLANTED-2"])))
    #expect(!String(decoding: try recorder.har(), as: UTF8.self).contains("PLANTED"))
  }

  @Test(
    "A secret part of an irregularly written form is masked",
    arguments: [
      "--b\nContent-Disposition: form-data; name=\"password\"\n\nPLANTED\n--b\nContent-Disposition: form-data; name=\"a\"\n\nok",
      "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nok\r\n--b\r\nContent-Disposition: form-data; name=\"password\"\r\nPLANTED",
      "--b\r\ncontent-disposition: form-data; name=\"a\"\r\n\r\nok\r\n--b\r\ncontent-disposition: form-data; name=\"pass\"\r\n\r\nPLANTED",
    ])
  func partsOfFormsByOtherRulesAreMasked(form: String) {
    let masked = HARForm.masked(form, by: .standard)
    #expect(!masked.contains("PLANTED") && masked.contains("ok") && masked.contains("***"))
  }

  @Test(
    "A form with very many secret parts is masked in one pass, with either line ending", arguments: ["\n", "\r\n"])
  func manySecretParts(end: String) {
    // Searching the rest of the text for each part would take 3 * 10^10 steps.
    let part = "name=\"pin\"\(end)\(end)SECRET\(end)--"
    let count = (1 << 20) / part.utf8.count
    let masked = HARForm.masked("content-disposition " + String(repeating: part, count: count), by: .standard)
    let expected = part.replacing("SECRET", with: "***")
    #expect(masked == "content-disposition " + String(repeating: expected, count: count))
  }

  @Test("The mask ends before the line end in front of the first delimiter")
  func endsOfSecretParts() {
    for (form, expected) in [
      ("a\r\n\r\nS\n--b", "a\r\n\r\n***\n--b"), ("a\n\nS\r\n--b", "a\n\n***\r\n--b"),
      ("a\r\n\r\n\r\n--b\r\n\r\nok", "a\r\n\r\n\r\n--b\r\n\r\nok"), ("a\n\n\n--b", "a\n\n\n--b"),
      ("a\n\nS\n-S\r\r\n--b\n--c", "a\n\n***\r\n--b\n--c"), ("a\r\n\nS", "a\r\n\n***"),
      ("a\n\r\nS\n--b", "a\n\r\n***\n--b"),
    ] {
      let head = "content-disposition: form-data; name=\"pin\""
      #expect(HARForm.masked(head + form, by: .standard) == head + expected)
    }
  }

  @Test("A page that is not form data is unchanged")
  func aPageThatIsNoFormStaysAsItIs() {
    let page = "<form>\n<input name=\"password\">\n</form>\n\n<p>text</p>\n"
    #expect(HARForm.masked(page, by: .standard) == page)
  }

  @Test(
    "Masked JSON is JSON: secrets become strings, and counts, booleans and null stay",
    arguments: [
      (#"{"total_tokens": 46, "nextPageToken" : null}"#, #"{"total_tokens": 46, "nextPageToken" : null}"#),
      (#"{"token":true,"pin":false,"key":null}"#, #"{"token":true,"pin":"***","key":"***"}"#),
      (#"{"password":1234,"token":5,"access_token":"x"}"#, #"{"password":"***","token":"***","access_token":"***"}"#),
      (#"{"prompt_tokens_details":{"cached_tokens":1}}"#, #"{"prompt_tokens_details":{"cached_tokens":1}}"#),
      (#"{"tokens":{"SECRET":1},"sessions":["SECRET"]}"#, #"{"tokens":"***","sessions":"***"}"#),
      (
        #"{"sess\u0069on":"x","a.pin":"y","n":[1.50,{"jwt":{"k":"v"}}]}"#,
        #"{"sess\u0069on":"***","a.pin":"***","n":[1.50,{"jwt":"***"}]}"#
      ),
      (#"{"n":4711,"u":"https:\/\/me:pw@x\/?PLANTED","PLANTED":1}"#, #"{"n":"***","u":"https://***@x/?***","***":1}"#),
      (#"{"l":"password=\u0041bc&\"x\""}"#, #"{"l":"password=***&\"x\""}"#),
      (
        "data: {\"tokens\":4,\"token\":\"x\"}\r\n\r\ndata: [DONE]\r\n",
        "data: {\"tokens\":4,\"token\":\"***\"}\r\n\r\ndata: [DONE]\r\n"
      ),
      ("{\"tokens\":4}\n{\"token\":5}\n", "{\"tokens\":4}\n{\"token\":\"***\"}\n"),
    ])
  func masksInJSON(text: String, expected: String) {
    let redaction = Redaction.standard.adding([Secret("4711"), Secret("PLANTED")])
    #expect(HARBody(Data(text.utf8), limit: 1000, redaction: redaction).text == expected)
  }

  @Test(
    "Text that is almost JSON is masked as other text is",
    arguments: [
      #"{"token":"PLANTED""#, #"{"token":"PLANTED"}}"#, #"{"token":"PLANTED",}"#, #"{"a":tru,"token":"PLANTED"}"#,
      #"{"token":PLANTED}"#, #"{"a":"\x","token":"PLANTED"}"#, "data: {\"token\":\ndata: \"PLANTED\"}\n",
      String(repeating: "[", count: 100_000) + #"{"token":"PLANTED"}"#,
    ])
  func almostJSON(text: String) throws {
    let masked = try #require(HARBody(Data(text.utf8), limit: 200_000, redaction: .standard).text)
    #expect(!masked.contains("PLANTED") && masked.contains("***"))
  }

  @Test(
    "The content of XML elements with secret names is masked",
    arguments: [
      ("<a><Password>x</Password><b>y</b></a>", "<a><Password>***</Password><b>y</b></a>"),
      (
        "<?xml version='1.0'?>\n<s:Token t='1'><![CDATA[x]]></s:Token>",
        "<?xml version='1.0'?>\n<s:Token t='1'>***</s:Token>"
      ),
      ("<Credentials>\n<Id>x</Id>\n</Credentials><c>y</c>", "<Credentials>\n<Id>***</Id>\n</Credentials><c>y</c>"),
      ("<a><Token/><Key>y</Key><pin>x", "<a><Token/><Key>y</Key><pin>***"), ("<secret>x<", "<secret>***<"),
    ])
  func secretElements(text: String, expected: String) {
    #expect(HARBody(Data(text.utf8), limit: 1000, redaction: .standard).text == expected)
  }

  @Test("The size of an exchange is at least that of its JSON")
  func sizes() throws {
    func entry(_ text: String) -> HAR.Entry {
      let field = HAR.Field(name: "a", value: text)
      return HAR.Entry(
        startedDateTime: HARDate.text(.zero), time: 0,
        request: .init(method: "GET", url: text, headers: Array(repeating: field, count: 50)),
        response: .init(status: 200, content: .init(size: 1, text: text)), timings: .init(), facts: .init())
    }
    for text in ["", String(repeating: "\"\\\n\u{1}", count: 1000)] {
      #expect(try entry(text).keptBytes >= HAR(entries: [entry(text)]).json().count - HAR(entries: []).json().count)
    }
  }

  @Test("Secrets in binary bodies are masked")
  func secretsInBinaryBodiesAreMasked() {
    let data = Data([0xFF, 0xFE, 0x0A]) + Data("password=SECRETSECRET&".utf8) + Data([0x80, 0])
    let body = HARBody(data, limit: 100, redaction: .standard)
    #expect(body.encoding == "base64")
    #expect(
      body.text.flatMap { Data(base64Encoded: $0) }
        == Data([0xFF, 0xFE, 0x0A]) + Data("password=***&".utf8) + Data([0x80, 0]))
  }

  @Test(
    "A secret part of a form is masked, whether the form is text or binary",
    arguments: ["", "\u{0}\u{FF}"])
  func secretsInPartsOfFormsAreMasked(rest: String) throws {
    func form(_ password: String) -> Data {
      Data(
        ("--b\r\nContent-Disposition: form-data; name=\"user\"\r\n\r\nme\r\n--b\r\n"
          + "Content-Disposition: form-data; name=\"password\"\r\nX-Y: z\r\n\r\n\(password)\r\n--b\r\n"
          + "Content-Disposition: form-data; name=\"f\"\r\n\r\n\(rest)\r\n--b--\r\n").utf8)
    }
    let body = HARBody(form("SECRET\r\nSECRET"), limit: 1000, redaction: .standard)
    let text = try #require(body.text)
    let bytes = body.encoding == nil ? Data(text.utf8) : try #require(Data(base64Encoded: text))
    #expect(bytes == form("***"))
  }

  @Test("Secrets are kept only with the explicit option")
  func secretsAreKeptByTheLongWordOnly() async throws {
    let recorder = HARRecorder(secrets: .writtenInTheClearForWhoeverReadsTheArchive)
    let stack = stack(recorder, .respond(status: 200, body: #"{"token":"SECRET1"}"#))
    _ = try await stack.fetch(
      .test(url: "https://example.com/?token=SECRET2", fields: [.authorization: "SECRET3", .cookie: "a=SECRET4"]))
    let text = String(decoding: try recorder.har(), as: UTF8.self)
    for number in 1...4 { #expect(text.contains("SECRET\(number)")) }
  }

  @Test("Bodies are cut at the limit, between characters, and marked as truncated")
  func bodiesAreBounded() async throws {
    let recorder = HARRecorder(maximumBodyBytes: 5)
    let stack = stack(recorder, .respond(status: 200, body: "abcdé and so on"), .respond(status: 200, body: "abcde"))
    _ = try await stack.fetch(.test(.put, body: .raw("1234567")))
    _ = try await stack.fetch(.test(.put, body: .raw("12345")))
    let entries = recorder.archive().log.entries
    let cut = entries[0].response.content
    #expect(cut.text == "abcd")
    #expect(cut.size == 16)
    #expect(cut.comment == "cut off after 5 of 16 bytes")
    #expect(cut.isTruncated == true)
    #expect(entries[0].request.postData?.text == "12345")
    #expect(entries[0].request.postData?.isTruncated == true)
    #expect(entries[0].request.bodySize == 7)
    #expect(entries[1].response.content.comment == nil)
    #expect(entries[1].response.content.text == "abcde")
  }

  @Test("A secret is masked before the body is cut")
  func aSecretIsMaskedBeforeItIsCut() {
    let body = HARBody(Data("token=SECRETSECRET".utf8), limit: 10, redaction: .standard)
    #expect(body.text == "token=***")
    #expect(body.isTruncated)
  }

  @Test(
    "Only the part within the limit is masked, and no part of a divided secret is kept",
    arguments: ["é", "\u{0}"])
  func onlyWhatMayBeKeptIsMasked(rest: String) throws {
    // The offsets move the cut to every place within a character. A secret that begins before the cut is masked up to
    // it.
    let secret = Secret("PLANTED" + String(repeating: "x", count: 40_000))
    for offset in 0..<3 {
      let start = String(repeating: "a", count: 100 + offset) + rest + secret.reveal()
      let body = HARBody(
        Data((start + String(repeating: "é", count: 40_000)).utf8), limit: 120, redaction: .standard.adding([secret]))
      let text = try #require(body.text)
      let kept = body.encoding == nil ? Data(text.utf8) : try #require(Data(base64Encoded: text))
      #expect(body.isTruncated && kept.count <= 120 && (body.encoding == nil) == (rest == "é"))
      #expect(!String(decoding: kept, as: UTF8.self).contains("xx"))
    }
    let plain = HARBody(Data(String(repeating: "é", count: 40_000).utf8), limit: 21, redaction: .standard)
    #expect(plain.text == String(repeating: "é", count: 10))
  }

  @Test("Text that a cut makes unrecognizable as a secret is not kept")
  func whatACutMakesUnrecognizableIsNotKept() throws {
    // Masking shortens the text, so that the end of the part that is masked falls within the limit: a URL whose
    // password is cut off there.
    let items = String(repeating: "token=" + String(repeating: "t", count: 200) + "&", count: 240)
    let text =
      String(items.prefix(32_768 + 16_384 - 44)) + "&x=1 https://user:PLANTEDPLANTEDPLANTEDPLANTEDPLANTED@host/ "
    let body = HARBody(Data((text + items).utf8), limit: 32_768, redaction: .standard)
    #expect(body.isTruncated && body.text?.contains("PLANTED") == false)
  }

  @Test("The total size of all entries is bounded: the oldest are dropped and counted")
  func allEntriesTogetherAreBounded() async throws {
    let recorder = HARRecorder(maximumBodyBytes: 10_000, maximumBytes: 45_000)
    let body = String(repeating: "b", count: 8_000)
    let stack = TransportNetworkStack.observed(
      ScriptedTransport { _ throws(TransportError) in .answer(200, body: body) }, by: recorder, clock: clock)
    for number in 0..<10 { _ = try await stack.fetch(.test(url: "https://example.com/\(number)")) }
    #expect(recorder.archive().log.entries.map { String($0.request.url.suffix(1)) } == ["6", "7", "8", "9"])
    #expect(recorder.droppedEntries == 6)
    recorder.removeAll()
    _ = try await stack.fetch(.test(url: "https://example.com/x"))
    #expect(recorder.archive().log.entries.count == 1 && recorder.droppedEntries == 6)
    let none = HARRecorder(maximumBytes: -1)
    _ = try await self.stack(none, .respond(status: 200)).fetch(.test())
    #expect(none.archive().log.entries.isEmpty && none.droppedEntries == 1)
  }

  @Test("Beyond the number of entries the oldest are dropped and counted")
  func theOldestEntriesAreDropped() async throws {
    let recorder = HARRecorder(maximumEntries: 3)
    let stack = TransportNetworkStack.observed(
      ScriptedTransport { _ throws(TransportError) in .answer(200) }, by: recorder, clock: clock)
    for number in 0..<10 { _ = try await stack.fetch(.test(url: "https://example.com/\(number)")) }
    #expect(recorder.archive().log.entries.map { String($0.request.url.suffix(1)) } == ["7", "8", "9"])
    #expect(recorder.droppedEntries == 7)
    recorder.removeAll()
    #expect(recorder.archive().log.entries.isEmpty)
  }

  @Test("A stream is recorded without its body, and with its end")
  func aStreamIsRecordedWithoutItsBody() async throws {
    let recorder = HARRecorder()
    let failure = TransportError(stage: .response, code: .truncatedBody, message: "cut", requestSent: true)
    let stack = stack(recorder, .stream(["abc", "de"]), .stream(["abc"], failure: failure), .respond(status: 204))
    for try await _ in try await stack.stream(.test()).value {}
    let body = try await stack.stream(.test()).value
    await #expect(throws: TransportError.self) { for try await _ in body {} }
    _ = try await stack.stream(.test())
    let entries = recorder.archive().log.entries
    #expect(entries.map(\.response.status) == [200, 200, 204])
    #expect(entries.map(\.response.content.size) == [5, 3, 0])
    #expect(entries.map(\.response.content.isTruncated) == [true, true, nil])
    #expect(entries.map(\.error?.code) == [nil, "truncated_body", nil])
    #expect(entries[0].response.bodySize == 77)
  }

  @Test("Data that is not an archive is refused, and the error names the missing member")
  func whatIsNoArchiveIsRefused() throws {
    #expect {
      try HAR(json: Data(#"{"log":{"version":"1.2"}}"#.utf8))
    } throws: { error in
      let error = error as? ConfigurationError
      return error?.message.contains("the data is not an HTTP archive") == true
        && error?.message.contains("creator") == true
    }
  }

  @Test(
    "Dates are written as in ISO 8601, clamped to its range",
    arguments: [
      (-1, "1969-12-31T23:59:59.000Z"), (0, "1970-01-01T00:00:00.000Z"), (951_782_400, "2000-02-29T00:00:00.000Z"),
      (1_709_251_199, "2024-02-29T23:59:59.000Z"), (4_107_542_400, "2100-03-01T00:00:00.000Z"),
      (Int64.max, "9999-12-31T23:59:59.000Z"), (Int64.min, "0000-01-01T00:00:00.000Z"),
    ])
  func dates(seconds: Int64, text: String) {
    #expect(HARDate.text(.seconds(seconds)) == text)
  }

  @Test("Dates have milliseconds")
  func milliseconds() { #expect(HARDate.text(.milliseconds(1_050)) == "1970-01-01T00:00:01.050Z") }
}

/// A JSON document as an independent parser reads it.
struct JSONTree {
  private let value: Any

  init(_ data: Data) throws { value = try JSONSerialization.jsonObject(with: data) }
  private init(value: Any) { self.value = value }

  var keys: Set<String> { Set((value as? [String: Any] ?? [:]).keys) }
  var items: [JSONTree] { (value as? [Any] ?? []).map(JSONTree.init(value:)) }
  var text: String { get throws { try #require(value as? String) } }
  var number: Double { get throws { try #require(value as? Double) } }
  var flag: Bool { get throws { try #require(value as? Bool) } }
  subscript(_ key: String) -> JSONTree {
    get throws { JSONTree(value: try #require((value as? [String: Any])?[key])) }
  }
}
