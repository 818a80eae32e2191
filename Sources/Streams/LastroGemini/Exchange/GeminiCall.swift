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
    var exchange = GeminiExchange(dialer: dialer, configuration: configuration, url: url, clock: clock)
    let answer = try await exchange.answer()
    clock = exchange.clock
    guard !answer.header.status.isSuccess else { return response(answer) }
    // Only 2x responses have a body.
    answer.stream.close()
    let goesOn =
      switch answer.header.status.category {
      case .input: try await answersPrompt(response(answer))
      case .redirect: try follows(answer.header)
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
    return GeminiResponse(url: url, header: answer.header, content: body, redirects: redirects, facts: facts)
  }

  private mutating func answersPrompt(_ prompt: GeminiResponse) async throws(GeminiError) -> Bool {
    guard let onInput = configuration.onInput, inputs < Self.maximumInputs else { return false }
    inputs += 1
    // The total limit is suspended while the application takes its time.
    let input = try await GeminiExchange.asking({ await onInput(prompt) }, forgiving: &clock, url: url)
    guard let input else { return false }
    let isSensitive = prompt.status == .sensitiveInput
    url = try url.answering(input.reveal(), sensitive: isSensitive)
    carriesSecret = carriesSecret || isSensitive
    visited = []
    redirectCount = 0
    return true
  }

  private mutating func follows(_ header: GeminiResponseHeader) throws(GeminiError) -> Bool {
    let limit = configuration.maximumRedirects
    guard limit > 0 else { return false }
    let target = try target(of: header)
    redirectCount += 1
    guard configuration.followsRedirectsAcrossHosts || target?.authority == url.authority else {
      throw failed(
        .redirectRefused, "\(url) redirects away from its host, which is not allowed", header,
        hint: "set GeminiConfiguration.followsRedirectsAcrossHosts to follow redirects within Gemini")
    }
    guard let next = target else {
      throw failed(
        .unsupportedScheme, "\(url) redirects to another scheme than gemini", header,
        hint: "set GeminiConfiguration.maximumRedirects to 0 to receive the redirect as the response")
    }
    guard redirectCount <= limit else {
      throw failed(
        .tooManyRedirects, "the server redirects more than \(limit.counted("time"))", header,
        hint: "raise GeminiConfiguration.maximumRedirects, if the server is known to need more")
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

  /// Returns the target of a redirect; `nil` if it has another scheme.
  private func target(of header: GeminiResponseHeader) throws(GeminiError) -> GeminiURL? {
    do throws(GeminiError) {
      guard header.meta.contains(where: { $0 != " " }) else { throw .invalidURL("its URL is missing") }
      guard let next = try url.resolve(header.meta) else { return nil }
      // Servers copy the input into the next URL, which errors and logs would reveal.
      return carriesSecret ? try next.masked() : next
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

  private func failed(
    _ code: FailureCode, _ message: String, _ header: GeminiResponseHeader, hint: String?
  ) -> GeminiError {
    // The target may contain sensitive input.
    var header = header
    if carriesSecret { header.meta = Redaction.mask }
    return GeminiError(stage: .redirect, code: code, message: message, hint: hint, url: url, header: header)
  }
}
