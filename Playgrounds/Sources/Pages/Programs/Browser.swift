// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl
import LastroGemini

/// A small Gemini browser for the terminal. A number follows a link, `b` goes back, `h` shows the history, `r` reloads,
/// and `q` or the end of the input quits. Any other line is a URL.
///
/// `swift run --package-path Playgrounds Pages browse [--known-hosts FILE] [URL]`
struct Browser: Sendable {
  private let client: GeminiClient
  let terminal: Terminal
  let width: Int

  /// - Parameter knownHosts: the file of the keys of known hosts; `nil` to keep them in memory.
  init(dialer: any Dialer, knownHosts: String?, terminal: Terminal, width: Int = 80) {
    self.terminal = terminal
    self.width = width
    var configuration = GeminiConfiguration()
    configuration.followsRedirectsAcrossHosts = true
    configuration.trust = .firstUse(path: knownHosts) { refusal in
      terminal.show("* \(refusal.message); refused. Remove its line, if you know why")
      return .refuse
    }
    client = GeminiClient(dialer: dialer, configuration: configuration)
  }

  private struct Visit {
    var url: GeminiURL
    var links: [String]
  }

  static func run(_ arguments: [String]) async -> Int32 {
    var arguments = arguments[...]
    var knownHosts: String?
    if arguments.first == "--known-hosts", arguments.count > 1 {
      knownHosts = arguments[1]
      arguments = arguments.dropFirst(2)
    }
    guard arguments.count <= 1, arguments.first?.hasPrefix("-") != true else {
      say("usage: Pages browse [--known-hosts FILE] [URL]")
      return 64
    }
    let browser = Browser(dialer: CurlNetworkStack.sharedDialer, knownHosts: knownHosts, terminal: .standard)
    await browser.run(arguments.first ?? "gemini://geminiprotocol.net/")
    return 0
  }

  /// Runs the browser until the user quits.
  func run(_ start: String) async {
    var lines = terminal.lines.makeAsyncIterator()
    var history: [Visit] = []
    var next: String? = start
    while true {
      if let wanted = next, let url = url(wanted, from: history.last) {
        if let visit = await visit(url, &lines) { history.append(visit) }
      }
      next = nil
      guard let line = await lines.next(), line != "q" else { return }
      switch line {
      case "": continue
      case "b":
        if history.count > 1 { history.removeLast() }
        next = history.popLast()?.url.text
      case "r": next = history.popLast()?.url.text
      case "h":
        for visit in history { terminal.show("  \(visit.url)") }
      default: next = line
      }
    }
  }

  /// Returns the URL of a link number or of a typed URL. Shows a message and returns `nil` if it cannot be followed.
  private func url(_ line: String, from here: Visit?) -> GeminiURL? {
    do throws(GeminiError) {
      guard let here, let number = Int(line) else { return try GeminiURL(line) }
      guard here.links.indices.contains(number - 1) else {
        terminal.show("* there is no link \(number)")
        return nil
      }
      let link = here.links[number - 1]
      guard let url = try here.url.resolve(link) else {
        terminal.show("* for another program: \(harmless(link))")
        return nil
      }
      return url
    } catch {
      terminal.show("* \(error)")
      return nil
    }
  }

  /// Fetches and shows a URL, and asks the user for input if the server requests it.
  private func visit(_ url: GeminiURL, _ lines: inout AsyncStream<String>.Iterator) async -> Visit? {
    do throws(GeminiError) {
      let response = try await client.fetch(url)
      switch response.status.category {
      case .success: return try await show(response)
      case .input:
        terminal.show("? \(harmless(response.meta))")
        guard let answer = await lines.next() else { return nil }
        return await visit(
          try response.url.answering(answer, sensitive: response.status == .sensitiveInput), &lines)
      default:
        terminal.show("* \(response.status) \(harmless(response.meta))")
        return nil
      }
    } catch {
      terminal.show("* \(error)")
      return nil
    }
  }

  private func show(_ response: GeminiResponse) async throws(GeminiError) -> Visit {
    terminal.show("== \(response.url), \(response.facts.trust.rawValue)")
    guard response.header.mediaType == "text/gemini" else {
      let whole = try await response.collected()
      if let text = whole.text {
        for line in text.split(whereSeparator: \.isNewline) { terminal.show(harmless(String(line))) }
      } else {
        terminal.show("* \(whole.data?.count ?? 0) bytes of \(harmless(response.meta))")
      }
      return Visit(url: response.url, links: [])
    }
    var links: [String] = []
    for try await line in response.gemtext {
      if case .link(let target, _) = line { links.append(target) }
      if let text = line.plainText(width: width, linkNumber: links.count) { terminal.show(text) }
    }
    return Visit(url: response.url, links: links)
  }
}

/// Runs the browser with the lines that a user types, and returns the lines shown on the screen.
func browse(_ script: [String], from url: String, over dialer: any Dialer) async -> [String] {
  let (lines, typing) = AsyncStream.makeStream(of: String.self)
  for line in script { typing.yield(line) }
  typing.finish()
  let (shown, show) = AsyncStream.makeStream(of: String.self)
  let browser = Browser(
    dialer: dialer, knownHosts: nil, terminal: Terminal(lines: lines) { show.yield($0) }, width: 60)
  await browser.run(url)
  show.finish()
  return await shown.reduce(into: []) { $0.append($1) }
}
