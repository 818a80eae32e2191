// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import Lastro
import LastroCurl

struct FetchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch", abstract: "Fetches one URL.",
    discussion: "Trailer fields behind a body are read, and not shown.\n\n" + ExitStatus.help)

  @Argument(help: "URL, http or https.")
  var url: String
  @OptionGroup var flags: FetchFlags
  @Option(name: [.customShort("o"), .customLong("output")], help: "File for the body, instead of standard output.")
  var output: String?
  @Flag(help: "Print one JSON object that tells how it went, instead of the body.")
  var json = false
  @Flag(help: "Ask for no content coding, and print the body as it comes: compressed where the server compresses it.")
  var raw = false
  @Flag(name: .shortAndLong, help: "Tell on standard error what is sent and received, without secrets.")
  var verbose = false
  @OptionGroup var downloadFlags: DownloadFlags

  func validate() throws {
    if downloadFlags.download != nil, output != nil {
      throw ValidationError("--download and -o exclude each other.")
    }
  }

  func run() async throws {
    let specification = try flags.specification(url: url)
    let judge: PinJudge?
    let engine: CurlTransport
    let stack: TransportNetworkStack
    do {
      judge = try flags.pins.judge()
      var configuration = flags.pins.engine(judge)
      configuration.decompresses = !raw
      engine = try CurlTransport(configuration)
      stack = try flags.way.stack(on: engine)
    } catch let error as ConfigurationError {
      var report = Report(url: Runner.withoutUserInformation(url))
      report.error = .init(error)
      return try finish(report, hint: nil)
    }
    if let path = downloadFlags.download {
      let (report, hint) = await download(specification, to: path, by: stack)
      await engine.shutDown(cancelling: true)
      await judge?.finish()
      return try finish(report, hint: hint)
    }
    let runner = Runner(stack: stack, interceptors: verbose ? [VerboseInterceptor()] : [])
    let (sink, descriptor) = try makeSink()
    defer { if let descriptor { close(descriptor) } }
    var bar: ProgressBar?
    do {
      let (report, hint) = try await runner.run(specification, into: sink) { count, total in
        if bar == nil { bar = ProgressBar(total: total, isEnabled: showsBar) }
        bar?.update(count)
      }
      bar?.finish()
      await engine.shutDown(cancelling: true)
      await judge?.finish()
      try finish(report, hint: hint)
    } catch let error as BodySink.WriteFailure {
      bar?.finish()
      await judge?.finish()
      throw Console.give(up: error)
    }
  }

  var showsBar: Bool { Console.errorIsTerminal && !json && !verbose }

  private func makeSink() throws -> (BodySink, Int32?) {
    if let output {
      let descriptor = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
      guard descriptor >= 0 else {
        let reason = String(cString: strerror(errno))
        Console.error(
          "lastro: cannot write \(output): \(reason) (check that its directory exists and may be written to)")
        throw ExitCode(1)
      }
      return (BodySink(.descriptor(descriptor)), descriptor)
    }
    return (BodySink(json ? .nowhere : .descriptor(STDOUT_FILENO)), nil)
  }

  private func finish(_ report: Report, hint: String?) throws {
    if json { try Console.out(report.line) }
    if verbose, let ledger = report.ledger { Console.error("\(ledger)") }
    guard let error = report.error else { return }
    if !json { Console.tell(error, hint: hint, trust: report.trustFailure, retryEnd: report.ledger?.retryEnd) }
    throw FailureStage(rawValue: error.stage).map(ExitStatus.of) ?? ExitCode(1)
  }
}
