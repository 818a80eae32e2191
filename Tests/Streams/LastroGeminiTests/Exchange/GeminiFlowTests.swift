// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import Testing

@testable import Lastro
@testable import LastroGemini

@Suite("Gemini redirects, prompts and waits", .timeLimit(.minutes(15)))
struct GeminiFlowTests {
  static let start = "gemini://capsule.example/"

  /// Returns a server with a response for each URL. Requests for other URLs get status 51.
  static func capsule(_ answers: [String: String]) -> Capsule {
    Capsule { .text(answers[$0] ?? "51 \($0)\r\n") }
  }

  // MARK: redirects

  @Test("Redirects are followed, including relative ones")
  func redirects() async throws {
    let capsule = Self.capsule([
      Self.start: "30 a/b\r\nignored", Self.start + "a/b": "31 ../c?x#part\r\n", Self.start + "c?x": "20 x/y\r\nhere",
    ])
    let response = try await GeminiClient.trusting(capsule).fetch(Self.start).collected()
    #expect(response.data == Data("here".utf8) && response.url.text == Self.start + "c?x")
    #expect(response.redirects.map(\.text) == [Self.start + "a/b", Self.start + "c?x"])
    #expect(capsule.requests.count == 3)
  }

  @Test("Five redirects are followed, the sixth fails, and a maximum of 0 follows none")
  func limit() async throws {
    let capsule = Capsule { request in
      let number = Int(request.split(separator: "/").last ?? "") ?? 0
      return .text("30 /\(number + 1)\r\n")
    }
    let error = await #expect(throws: GeminiError.self) { try await GeminiClient.trusting(capsule).fetch(Self.start) }
    #expect(error?.stage == .redirect && error?.code == .tooManyRedirects && error?.redirects.count == 5)
    #expect(capsule.requests.count == 6)
    let one = GeminiClient.trusting(capsule) { $0.maximumRedirects = 1 }
    let second = await #expect(throws: GeminiError.self) { try await one.fetch(Self.start) }
    #expect(second?.code == .tooManyRedirects && second?.redirects.count == 1)
    let handed = try await GeminiClient.trusting(capsule) { $0.maximumRedirects = 0 }.fetch(Self.start)
    #expect(handed.status.rawValue == 30 && handed.meta == "/1" && handed.redirects.isEmpty)
  }

  @Test(
    "A redirect that is returned may have an invalid target",
    arguments: ["", " ", "gemini://", "gemini://u@h.example/", "//:x/", "\u{FF0F}", "gemini://h.example:0/"])
  func handedOver(meta: String) async throws {
    let capsule = Self.capsule([Self.start: "31 \(meta)\r\n"])
    let handed = try await GeminiClient.trusting(capsule) { $0.maximumRedirects = 0 }.fetch(Self.start)
    #expect(handed.status.rawValue == 31 && handed.meta == meta && handed.redirects.isEmpty)
    // One of the targets is a path, once its character is percent-encoded.
    do throws(GeminiError) {
      #expect(try await GeminiClient.trusting(capsule).fetch(Self.start).url.path == "/%EF%BC%8F")
    } catch {
      #expect(error.stage == .redirect && error.code == .invalidRedirect)
    }
  }

  @Test("A loop is detected")
  func loop() async {
    let capsule = Self.capsule([Self.start: "30 /a\r\n", Self.start + "a": "30 /b\r\n", Self.start + "b": "31 /a\r\n"])
    let error = await #expect(throws: GeminiError.self) { try await GeminiClient.trusting(capsule).fetch(Self.start) }
    #expect(error?.code == .redirectLoop && capsule.requests.count == 3)
  }

  @Test("A redirect to another host needs a decision, and nothing is sent there without it")
  func crossHost() async throws {
    let other = "gemini://other.example/x"
    let capsule = Self.capsule([Self.start: "30 \(other)\r\n", other: "20 x/y\r\nthere"])
    let error = await #expect(throws: GeminiError.self) { try await GeminiClient.trusting(capsule).fetch(Self.start) }
    #expect(error?.code == .redirectRefused && error?.header?.meta == other && capsule.requests == [Self.start])
    let across = GeminiClient.trusting(capsule) { $0.followsRedirectsAcrossHosts = true }
    let response = try await across.fetch(Self.start).collected()
    #expect(response.data == Data("there".utf8) && response.url.text == other)
  }

  @Test("A redirect to another scheme can be returned, and is never followed")
  func otherScheme() async throws {
    let capsule = Self.capsule([Self.start: "30 https://web.example/\r\n"])
    let eager = GeminiClient.trusting(capsule) { $0.followsRedirectsAcrossHosts = true }
    let error = await #expect(throws: GeminiError.self) { try await eager.fetch(Self.start) }
    #expect(error?.stage == .redirect && error?.code == .unsupportedScheme)
    let handing = GeminiClient.trusting(capsule) { $0.maximumRedirects = 0 }
    #expect(try await handing.fetch(Self.start).meta == "https://web.example/")
    #expect(capsule.dialed.count == 2)
  }

  // MARK: prompts

  @Test("The input for a prompt is sent percent-encoded, and may redirect back")
  func input() async throws {
    let capsule = Self.capsule([
      Self.start: "10 Who?\r\n", Self.start + "?a%20b%2Bc": "30 /done\r\n", Self.start + "done": "30 /\r\n",
    ])
    let asked = EventRecorder<String>()
    let client = GeminiClient.trusting(capsule) {
      $0.onInput = { prompt in
        asked.record("\(prompt.url) \(prompt.meta) \(prompt.status)")
        return asked.events.count == 1 ? "a b+c" : nil
      }
    }
    let response = try await client.fetch(Self.start)
    #expect(response.status.rawValue == 10 && response.redirects.map(\.path) == ["/done", "/"])
    #expect(asked.events == Array(repeating: "\(Self.start) Who? 10", count: 2))
    #expect(capsule.requests == ["", "?a%20b%2Bc", "done", ""].map { Self.start + $0 })
  }

  @Test("A server that prompts endlessly is not answered endlessly")
  func endlessInput() async throws {
    let capsule = Capsule { _ in .text("10 again\r\n") }
    let client = GeminiClient.trusting(capsule) { $0.onInput = { _ in "x" } }
    #expect(try await client.fetch(Self.start).status.rawValue == 10)
    #expect(capsule.requests.count == 11)
  }

  @Test("Input that makes the URL too long is an error and is not sent")
  func longInput() async {
    let capsule = Capsule { _ in .text("10 say\r\n") }
    let client = GeminiClient.trusting(capsule) {
      $0.onInput = { _ in Secret(String(repeating: "ü", count: 300)) }
    }
    let error = await #expect(throws: GeminiError.self) { try await client.fetch(Self.start) }
    #expect(error?.code == .urlTooLong && capsule.requests.count == 1)
  }

  @Test("Sensitive input is sent and appears nowhere else, also if the server redirects with it")
  func sensitive() async throws {
    let capsule = Capsule { request in
      switch request {
      case Self.start: .text("11 Password?\r\n")
      case Self.start + "?hunter2": .text("30 /in?hunter2\r\n")
      case Self.start + "in?hunter2": .text("31 gemini://evil.example/?hunter2\r\n")
      default: .text("20 x/y\r\n")
      }
    }
    let client = GeminiClient.trusting(capsule) {
      $0.onInput = { prompt in prompt.status == .sensitiveInput ? "hunter2" : nil }
    }
    let error = await #expect(throws: GeminiError.self) { try await client.fetch(Self.start) }
    #expect(capsule.requests.last == Self.start + "in?hunter2" && error?.code == .redirectRefused)
    var dumped = ""
    dump(error, to: &dumped)
    for text in ["\(String(describing: error))", String(reflecting: error), dumped, "\(error?.redirects ?? [])"] {
      #expect(!text.contains("hunter2"), "\(text)")
    }
    let across = GeminiClient.trusting(capsule) {
      $0.onInput = { _ in "hunter2" }
      $0.followsRedirectsAcrossHosts = true
    }
    let response = try await across.fetch(Self.start)
    #expect(response.url.isSensitive && response.url.query == "hunter2")
    #expect(!"\(response)".contains("hunter2") && !String(reflecting: response).contains("hunter2"))
  }

  @Test("Sensitive input does not appear if the server puts it into redirect paths or links")
  func sensitivePath() async throws {
    let capsule = Capsule { request in
      switch request {
      case Self.start: .text("11 Password?\r\n")
      case Self.start + "?hunter2": .text("30 /in/hunter2/a?b\r\n")
      default: .text("20 x/y\r\n")
      }
    }
    let response = try await GeminiClient.trusting(capsule) { $0.onInput = { _ in "hunter2" } }.fetch(Self.start)
    #expect(capsule.requests.last == Self.start + "in/hunter2/a?b" && response.url.path == "/in/hunter2/a")
    var urls = [response.url] + response.redirects
    for link in ["b", "", "#x", "?y", "./c?d"] {
      if let url = try response.url.resolve(link) { urls.append(url) }
    }
    #expect(urls.count == 7)
    for url in urls { #expect(url.text.contains("hunter2") && !"\(url)".contains("hunter2"), "\(url)") }
    #expect(!"\(response)".contains("hunter2") && !String(reflecting: response).contains("hunter2"))
    let other = try #require(try response.url.resolve("/other"))
    #expect("\(other)" == Self.start + "other")
  }

  // MARK: waiting

  @Test("Slow down is reported, and waited for if allowed and possible in time")
  func slowDown() async throws {
    let count = EventRecorder<Int>()
    let capsule = Capsule { _ in
      count.record(1)
      return .text(count.events.count < 3 ? "44 30\r\n" : "20 x/y\r\nnow")
    }
    let told = try await GeminiClient.trusting(capsule).fetch(Self.start)
    #expect(told.status == .slowDown && told.header.slowDown == .seconds(30))
    let clock = ManualClock(autoAdvance: true)
    let waiting = GeminiClient.trusting(capsule) {
      $0.time = clock.timeSource
      $0.slowDown = .wait(longest: .seconds(60), attempts: 3)
    }
    #expect(try await waiting.fetch(Self.start).collected().data == Data("now".utf8))
    #expect(clock.sleeps == [.seconds(30)])
  }

  @Test(
    "Waits are limited in length, number and by the total limit",
    arguments: [
      GeminiConfiguration.SlowDown.wait(longest: .seconds(29), attempts: 3), .wait(longest: .seconds(60), attempts: 0),
    ])
  func noWait(slowDown: GeminiConfiguration.SlowDown) async throws {
    let capsule = Capsule { _ in .text("44 30\r\n") }
    let clock = ManualClock(autoAdvance: true)
    let client = GeminiClient.trusting(capsule) {
      $0.time = clock.timeSource
      $0.slowDown = slowDown
    }
    #expect(try await client.fetch(Self.start).status == .slowDown)
    let limited = GeminiClient.trusting(capsule) {
      $0.time = clock.timeSource
      $0.slowDown = .wait(longest: .seconds(60), attempts: 9)
      $0.totalTimeout = .seconds(20)
    }
    #expect(try await limited.fetch(Self.start).status == .slowDown)
    #expect(clock.sleeps.isEmpty && capsule.requests.count == 2)
    let bounded = GeminiClient.trusting(capsule) {
      $0.time = clock.timeSource
      $0.slowDown = .wait(longest: .seconds(60), attempts: 2)
    }
    #expect(try await bounded.fetch(Self.start).status == .slowDown && clock.sleeps.count == 2)
  }

  @Test(
    "The seconds of a 44 response are parsed",
    arguments: [
      ("30", 30), ("0", 0), ("", nil), ("-1", nil), ("1.5", nil), ("x", nil),
      ("999999999999999999", 86_400), ("9999999999999999999", nil),
    ])
  func seconds(meta: String, seconds: Int?) throws {
    let other = try #require(GeminiStatus(rawValue: 40))
    #expect(GeminiResponseHeader(status: .slowDown, meta: meta).slowDown == seconds.map { .seconds($0) })
    #expect(GeminiResponseHeader(status: other, meta: meta).slowDown == nil)
  }

  @Test(
    "Media types are parsed",
    arguments: [
      ("", "text/gemini", "utf-8"), ("text/plain", "text/plain", "utf-8"),
      (" Text/Gemini ; Charset=ISO-8859-1", "text/gemini", "iso-8859-1"),
      ("text/gemini; x=\"a;b\"; charset=\"us-ascii\"", "text/gemini", "us-ascii"), (";charset=x", "text/gemini", "x"),
    ])
  func mediaTypes(meta: String, essence: String, charset: String) {
    let header = GeminiResponseHeader(status: .success, meta: meta)
    let type = header.parsedMediaType
    #expect(header.mediaType == essence)
    #expect(type?.essence == essence && type?.charset == charset)
  }
}
