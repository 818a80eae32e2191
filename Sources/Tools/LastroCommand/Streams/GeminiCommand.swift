// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Lastro
import LastroCurl
internal import LastroGemini

struct GeminiCommand: StreamingCommand {
  static let configuration = CommandConfiguration(
    commandName: "gemini",
    abstract: "Fetches one Gemini URL.",
    discussion: """
      The body of a 2x response goes to standard output. Servers are trusted on first use: with --known-hosts their keys are \
      stored, without it they are kept for this request only. --cacert and --capath require a chain to a trusted root instead.

      Many capsules present certificates that have expired or name another host: --expired and --any-name accept them. The \
      key that --known-hosts stored is required nevertheless, and with --expired a new key is refused even if the old \
      certificate has expired.

      EXIT STATUS: 0 for a 2x response, else as of fetch: 22 for another status, 60 for a host whose key has changed.
      """)

  @Argument(help: "URL; gemini:// may be left out.")
  var url: String
  @Flag(name: .customLong("report"), help: "Print a report as one JSON object instead of the body.")
  var reports = false
  @Option(help: "Text that answers a prompt (status 10 or 11).")
  var input: String?
  @Option(name: .customLong("known-hosts"), help: "File of known hosts and their keys.")
  var knownHosts: String?
  @Flag(help: "Accept certificates that have expired or are not yet valid.")
  var expired = false
  @Flag(name: .customLong("any-name"), help: "Accept certificates for another host.")
  var anyName = false
  @Option(
    name: .customLong("max-redirects"),
    help: "Maximum number of redirects to follow; with 0 a 3x response is printed. Default 5.")
  var maxRedirects = 5
  @Flag(name: .customLong("yes-cross-host"), help: "Follow redirects to other hosts, too.")
  var yesCrossHost = false
  @Option(name: .customLong("max-body"), help: "Maximum number of bytes of the body. Default: no limit.")
  var maxBody: Int?
  @Option(name: .customLong("timeout"), help: "Seconds for everything.")
  var timeout: Double?
  @Option(name: .customLong("idle-timeout"), help: "Seconds without a byte of the body. Default 30.")
  var idleTimeout: Double = 30
  @OptionGroup var connection: ConnectionFlags
  @OptionGroup var pins: PinFlags
  @OptionGroup var identity: IdentityFlags
  @OptionGroup var way: ViaFlags

  func validate() throws {
    guard maxRedirects >= 0 else {
      throw ValidationError("--max-redirects \(maxRedirects) is out of range; give 0 or more.")
    }
    for (name, value) in [("timeout", timeout), ("idle-timeout", idleTimeout)] {
      if let value, !(value > 0 && value <= 31_536_000) {
        throw ValidationError(
          "--\(name) \(value) is out of range; give a positive number of seconds, 31536000 at most.")
      }
    }
    if let maxBody, maxBody < 0 { throw ValidationError("--max-body \(maxBody) is out of range; give 0 or more.") }
    if knownHosts != nil, connection.cacert != nil || connection.capath != nil {
      throw ValidationError("--known-hosts is for trust on first use; --cacert and --capath exclude it.")
    }
    if expired || anyName, connection.cacert != nil || connection.capath != nil {
      throw ValidationError("--expired and --any-name are for trust on first use; --cacert and --capath exclude them.")
    }
  }

  func run() async throws {
    let session = try CommandSession(self, presentsIdentity: false)
    var report = GeminiReport(url: url)
    let sink = ResponseOutput(reports ? .nowhere : .descriptor(STDOUT_FILENO), hashes: reports)
    do {
      let target = try GeminiURL(url)
      report.url = target.text
      let client = GeminiClient(dialer: session.dialer, configuration: try configuration(for: target))
      let response = try await client.fetch(target)
      report.add(response)
      try await copy(response, into: sink)
      if !response.status.isSuccess { report.error = Report.Failure(response) }
    } catch let error as ResponseOutput.WriteFailure {
      await session.shutDown()
      throw error
    } catch let error as GeminiError {
      report.add(error)
    } catch let error as ConfigurationError {
      report.error = Report.Failure(error)
    }
    report.bodyBytes = sink.count
    report.bodySHA256 = report.status == nil ? nil : sink.hexDigest()
    await session.shutDown()
    try printOutcome(report)
  }

  private func copy(_ response: GeminiResponse, into sink: ResponseOutput) async throws {
    for try await piece in response.body {
      if let maxBody, sink.count + Int64(piece.count) > Int64(maxBody) {
        try sink.write(piece.prefix(maxBody - Int(sink.count)))
        response.content.cancel()
        throw GeminiError(
          stage: .limit, code: .bodyTooLarge, message: "the body has more than \(maxBody) bytes",
          hint: "raise --max-body", url: response.url)
      }
      try sink.write(piece)
    }
  }

  private func configuration(for url: GeminiURL) throws -> GeminiConfiguration {
    var configuration = GeminiConfiguration()
    var options = try connectionOptions()
    // Present the client certificate only to the URL's host and path, even after redirects.
    if let identity = options.tls.identity { configuration.identities.add(identity, for: url) }
    options.tls.identity = nil
    configuration.connection = options
    configuration.trust = trust
    configuration.connectTimeout = try connectTimeout()
    configuration.idleTimeout = .seconds(idleTimeout)
    configuration.totalTimeout = timeout.map { .seconds($0) }
    configuration.maximumRedirects = maxRedirects
    configuration.followsRedirectsAcrossHosts = yesCrossHost
    // The input is sent only to the host that was named, even after redirects.
    if let input { configuration.onInput = { $0.url.authority == url.authority ? Secret(input) : nil } }
    return configuration
  }

  private var trust: GeminiTrust {
    if connection.cacert != nil || connection.capath != nil { return .authorities }
    // With `expired`, any server could otherwise impersonate a host whose certificate has expired.
    return .firstUse(
      path: knownHosts, checksDates: !expired, checksHostName: !anyName, acceptsNewKeyAfterExpiry: !expired)
  }

  private func printOutcome(_ report: GeminiReport) throws {
    if reports { try Console.out(report.jsonLine) }
    guard let error = report.error else { return }
    if !reports { Console.tell(error) }
    throw ExitStatus.of(error.stage)
  }
}
