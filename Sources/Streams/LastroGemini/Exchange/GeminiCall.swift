// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroWire

/// A request with its redirects, prompts and waits.
struct GeminiCall {
  /// The maximum number of prompts answered per request, so that a server cannot ask forever.
  private static let maximumInputs = 10

  private let dialer: any Dialer
  private let configuration: GeminiConfiguration
  private var url: GeminiURL
  private var clock: GeminiDeadline
  private var redirects: [GeminiURL] = []
  /// The URLs visited since the last prompt: an answer may redirect back to the prompting URL.
  private var visited: Set<String> = []
  private var redirectCount = 0
  private var inputs = 0
  private var waits = 0
  /// Whether sensitive input was sent, which servers may copy into later redirects.
  private var carriesSecret = false

  init(dialer: any Dialer, configuration: GeminiConfiguration, url: GeminiURL) {
    self.dialer = dialer
    self.configuration = configuration
    self.url = url
    carriesSecret = url.isSensitive || url.hidesPath
    clock = GeminiDeadline(time: configuration.time, total: configuration.totalTimeout)
  }

  mutating func run() async throws(GeminiError) -> GeminiResponse {
    do throws(GeminiError) {
      while true {
        if let response = try await step() { return response }
      }
    } catch {
      var error = error
      if error.url == nil { error.url = url }
      error.redirects = redirects
      throw error
    }
  }

  /// Performs one exchange; returns `nil` if another one must follow.
  private mutating func step() async throws(GeminiError) -> GeminiResponse? {
    visited.insert(url.text)
    let answer = try await GeminiExchange(dialer: dialer, configuration: configuration, url: url, clock: clock).run(
      forgiving: &clock)
    guard !answer.header.status.isSuccess else { return response(answer) }
    // Only 2x responses have a body.
    answer.stream.close()
    let goesOn =
      switch answer.header.status.category {
      case .input: try await answersPrompt(answer.header)
      case .redirect: try await follows(answer.header)
      case .temporaryFailure: try await waits(for: answer.header)
      case .success, .permanentFailure, .clientCertificate: false
      }
    return goesOn ? nil : response(answer)
  }

  private func response(_ answer: GeminiExchange.Answer) -> GeminiResponse {
    let body =
      answer.header.status.isSuccess
      ? GeminiBody(
        GeminiBodySource(
          answer.stream, first: answer.rest, clock: clock, configuration: configuration, url: url,
          header: answer.header))
      : GeminiBody(Data())
    var facts = answer.stream.facts
    if let verdict = answer.verdict { facts.trust = verdict }
    return GeminiResponse(url: url, header: answer.header, body: body, redirects: redirects, facts: facts)
  }

  private mutating func answersPrompt(_ header: GeminiResponseHeader) async throws(GeminiError) -> Bool {
    guard let onInput = configuration.onInput, inputs < Self.maximumInputs else { return false }
    inputs += 1
    let isSensitive = header.status.isSensitiveInput
    let request = GeminiConfiguration.InputRequest(url: url, prompt: header.meta, isSensitive: isSensitive)
    guard let input = try await asking({ await onInput(request) }) else { return false }
    url = try url.answering(input.reveal(), sensitive: isSensitive)
    carriesSecret = carriesSecret || isSensitive
    visited = []
    redirectCount = 0
    return true
  }

  private mutating func follows(_ header: GeminiResponseHeader) async throws(GeminiError) -> Bool {
    if configuration.redirects.handsAllOver { return false }
    let target = try target(of: header)
    redirectCount += 1
    let step = GeminiRedirects.Step(from: url, to: target, status: header.status, number: redirectCount)
    // Ask before applying the rules below, because the decision may be to deliver a redirect that cannot be followed.
    let decide = configuration.redirects.decide
    switch try await asking({ await decide(step) }) {
    case .deliver: return false
    case .refuse:
      throw failed(
        .redirectRefused, "\(url) redirects away from its host, which is not allowed", header,
        hint: "set GeminiConfiguration.redirects; GeminiRedirects.acrossHosts() follows within Gemini")
    case .follow: break
    }
    guard case .gemini(let next) = target else {
      throw failed(
        .unsupportedScheme, "\(url) redirects to another scheme than gemini", header,
        hint: "set GeminiConfiguration.redirects to .none to receive the redirect as the response")
    }
    guard redirectCount <= configuration.redirects.limit else {
      throw failed(
        .tooManyRedirects, "the server redirects more than \(configuration.redirects.limit.counted("time"))", header,
        hint: "raise the limit of GeminiRedirects.acrossHosts(limit:), if the server is known to need more")
    }
    guard !visited.contains(next.text) else {
      throw failed(
        .redirectLoop, "the redirects form a loop, back to \(next)", header,
        hint: "the server's owner has to fix it")
    }
    url = next
    redirects.append(next)
    return true
  }

  private func target(of header: GeminiResponseHeader) throws(GeminiError) -> GeminiReference {
    do throws(GeminiError) {
      guard header.meta.contains(where: { $0 != " " }) else { throw .invalidURL("its URL is missing") }
      let target = try url.target(of: header.meta)
      guard case .gemini(let next) = target else { return target }
      // Servers copy the input into the next URL, which errors and logs would reveal.
      return .gemini(carriesSecret ? try next.masked() : next)
    } catch {
      throw failed(
        .invalidRedirect, "the redirect cannot be followed: \(error.message)", header,
        hint: "report it to the server's owner")
    }
  }

  private mutating func waits(for header: GeminiResponseHeader) async throws(GeminiError) -> Bool {
    // Do not begin a wait beyond the total limit: the response is more useful to the caller than a timeout.
    guard case .wait(let longest, let attempts) = configuration.slowDown, let delay = header.slowDown,
      delay <= longest, waits < attempts, clock.limit(nil).map({ delay < $0 }) ?? true
    else { return false }
    waits += 1
    do {
      try await configuration.time.sleep(delay)
    } catch {
      throw .cancelled(url: url)
    }
    return true
  }

  /// Asks the application, which may take its time: the total limit is suspended meanwhile.
  private mutating func asking<Value: Sendable>(
    _ question: @escaping @Sendable () async -> Value
  ) async throws(GeminiError) -> Value {
    try await GeminiExchange.asking(question, forgiving: &clock, url: url)
  }

  private func failed(
    _ code: FailureCode, _ message: String, _ header: GeminiResponseHeader, hint: String?
  ) -> GeminiError {
    // The target may contain sensitive input.
    var header = header
    if carriesSecret { header.meta = Redaction.mask }
    return GeminiError(stage: .redirect, code: code, message: message, hint: hint, url: url, header: header)
  }
}
