// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import Lastro
import LastroCache
import LastroCookies
import LastroCurl

struct FetchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch", abstract: "Fetches one URL.",
    discussion: "Trailer fields behind a body are read, and not shown.\n\n" + ExitStatus.help)

  @Argument(help: "URL, http or https.")
  var url: String
  @OptionGroup var flags: FetchFlags
  @OptionGroup var cookies: CookieFlags
  @Option(name: [.customShort("o"), .customLong("output")], help: "File for the body, instead of standard output.")
  var output: String?
  @Flag(help: "Print one JSON object that tells how it went, instead of the body.")
  var json = false
  @Flag(help: "Ask for no content coding, and print the body as it comes: compressed where the server compresses it.")
  var raw = false
  @Flag(
    help: """
      Follow links to next pages (RFC 8288) on the same server, and print their bodies one after another. --timeout is \
      for all pages, --max-body for each (default 10 MiB).
      """)
  var paginate = false
  @OptionGroup var cached: CacheFlags
  @Flag(name: .shortAndLong, help: "Tell on standard error what is sent and received, without secrets.")
  var verbose = false
  @OptionGroup var downloadFlags: DownloadFlags

  func validate() throws {
    if downloadFlags.download != nil, output != nil {
      throw ValidationError("--download and -o exclude each other.")
    }
    if downloadFlags.download != nil, paginate {
      throw ValidationError("--download and --paginate exclude each other: a file has one body; write with -o.")
    }
    if raw, cached.directory != nil {
      throw ValidationError(
        "--raw and --cache exclude each other: what is kept has its content coding undone; fetch with --raw alone.")
    }
  }

  func run() async throws {
    var specification = try flags.specification(url: url)
    let parts: Parts
    do {
      parts = try assemble(for: &specification)
    } catch let error as ConfigurationError {
      var report = Report(url: Runner.withoutUserInformation(url))
      report.error = .init(error)
      return try finish(report, hint: nil)
    }
    let (report, hint) = try await perform(specification, by: parts)
    await parts.finish()
    try save(parts.jar)
    try finish(report, hint: hint)
  }

  /// What the flags put together.
  private struct Parts {
    let jar: CookieFlags.Jar
    let cache: HTTPCache?
    let judge: PinJudge?
    let engine: CurlTransport
    let stack: TransportNetworkStack

    func finish() async {
      await cache?.finishRevalidations()
      await engine.shutDown(cancelling: true)
      await judge?.finish()
    }
  }

  private func assemble(for specification: inout RequestSpecification) throws -> Parts {
    let jar = try cookies.jar(for: &specification)
    let cache = try cached.cache()
    let judge = try flags.pins.judge()
    let engine = try CurlTransport(configuration(judge))
    var configuration = jar.configuration
    configuration.cache = cache
    let stack = try flags.way.stack(on: engine, configuration: configuration)
    return Parts(jar: jar, cache: cache, judge: judge, engine: engine, stack: stack)
  }

  private func perform(
    _ specification: RequestSpecification, by parts: Parts
  ) async throws -> (report: Report, hint: String?) {
    if let path = downloadFlags.download {
      return await download(specification, to: path, by: parts.stack)
    }
    let runner = Runner(
      stack: parts.stack, interceptors: verbose ? [VerboseInterceptor()] : [], paginates: paginate)
    let (sink, descriptor) = try makeSink()
    defer { if let descriptor { close(descriptor) } }
    var bar: ProgressBar?
    do throws(BodySink.WriteFailure) {
      let told = try await runner.run(specification, into: sink) { count, total in
        if bar == nil { bar = ProgressBar(total: total, isEnabled: showsBar) }
        bar?.update(count)
      }
      bar?.finish()
      return told
    } catch {
      bar?.finish()
      await parts.judge?.finish()
      throw Console.give(up: error)
    }
  }

  private func configuration(_ judge: PinJudge?) -> CurlConfiguration {
    var configuration = flags.pins.engine(judge)
    configuration.decompresses = !raw
    return configuration
  }

  private func save(_ jar: CookieFlags.Jar) throws {
    do {
      try cookies.save(jar)
    } catch let error as CookieError {
      Console.error("lastro: \("\(error)".onOneLine)")
      throw ExitCode(1)
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
