// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Lastro
import LastroCurl
import LastroEveryday

struct FetchCommand: FetchingCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch", abstract: "Fetches one URL.",
    discussion: """
      Takes curl's options. A URL without a scheme is https. Redirects are followed, and an answer outside 2xx is a \
      failure, whose body is printed. Trailer fields behind a body are read, and not shown.

      \(AcceptedFlags.help)

      \(ExitStatus.help)
      """)

  @Argument(help: "URL, http or https.")
  var url: String
  @OptionGroup var request: RequestFlags
  @OptionGroup var body: BodyFlags
  @OptionGroup var connection: ConnectionFlags
  @OptionGroup var identity: IdentityFlags
  @OptionGroup var pins: PinFlags
  @OptionGroup var way: ViaFlags
  @OptionGroup var cookies: CookieFlags
  @OptionGroup var output: OutputFlags
  @Flag(
    help: """
      Follow links to next pages (RFC 8288) on the same server, and print their bodies one after another. --timeout is \
      for all pages, --max-body for each (default 10 MiB).
      """)
  var paginate = false
  @OptionGroup var cached: CacheFlags
  @OptionGroup var downloadFlags: DownloadFlags
  @OptionGroup var accepted: AcceptedFlags

  func validate() throws {
    try flags.validate()
    if downloadFlags.download != nil, output.file != nil || output.remoteName {
      throw ValidationError("--download and \(output.remoteName ? "-O" : "-o") exclude each other.")
    }
    if let saving = downloadFlags.download != nil ? "--download" : downloadFlags.continueAt != nil ? "-C" : nil {
      for (name, isSet) in [
        ("-D", output.dumpHeader != nil), ("-i", output.include), ("--paginate", paginate),
      ] where isSet {
        throw ValidationError("\(saving) and \(name) exclude each other: write with -o FILE alone.")
      }
    }
    if downloadFlags.continueAt != nil, downloadFlags.download == nil, output.file == nil, !output.remoteName {
      throw ValidationError("-C needs -o FILE or -O.")
    }
    if output.raw, cached.directory != nil {
      throw ValidationError(
        "--raw and --cache exclude each other: the cache stores decoded bodies; fetch with --raw alone.")
    }
  }

  func run() async throws {
    var work: Work
    do {
      work = try prepare()
    } catch let error as ConfigurationError {
      var report = Report(url: Runner.withoutUserInformation(url))
      report.error = .init(error)
      return try finish(report, hint: nil, endsLine: true)
    } catch let error as TransportError where error.stage == .request || error.stage == .timeout {
      var report = Report(url: Runner.withoutUserInformation(url))
      report.fail(error.stage, error.code, error.message)
      return try finish(report, hint: error.hint, endsLine: true)
    }
    let told = try await perform(work)
    await work.parts.finish()
    try save(work.parts.jar)
    try write(work.format, told.report, to: work.path)
    try finish(told.report, hint: told.hint, endsLine: told.endsLine)
  }

  /// The objects made from the flags.
  private struct Parts {
    let jar: CookieFlags.Jar
    let cache: HTTPCache?
    let judge: PinJudge?
    let engine: CurlTransport
    let stack: TransportNetworkStack
    let verbose: VerboseInterceptor?

    func finish() async {
      await cache?.finishRevalidations()
      await engine.shutDown(cancelling: true)
      await judge?.finish()
    }
  }

  /// The request to perform, and the objects for it.
  private struct Work {
    let specification: RequestSpecification
    let parts: Parts
    let path: String?
    let format: WriteOut?
  }

  private func prepare() throws -> Work {
    var specification = try flags.specification(url: url, isSilent: output.silent)
    WriteDeadline.set(seconds: specification.timeout)
    let parts = try assemble(for: &specification)
    return Work(
      specification: specification, parts: parts,
      path: try downloadFlags.download ?? output.path(for: specification.url), format: try output.format())
  }

  private func assemble(for specification: inout RequestSpecification) throws -> Parts {
    let jar = try cookies.jar(for: &specification)
    let cache = try cached.cache(over: flags.wayOfTransport(for: specification))
    let judge = try pins.judge()
    var settings = flags.engine(judge, for: specification)
    if output.raw { settings.decompresses = false }
    let engine = try CurlTransport(settings)
    var configuration = jar.configuration
    configuration.cache = cache
    let stack = try flags.stack(on: engine, configuration: configuration)
    return Parts(
      jar: jar, cache: cache, judge: judge, engine: engine, stack: stack,
      verbose: output.verbose ? VerboseInterceptor(settings) : nil)
  }

  private typealias Told = (report: Report, hint: String?, endsLine: Bool)

  private func perform(_ work: Work) async throws -> Told {
    let parts = work.parts
    if let path = work.path, downloadFlags.download != nil || downloadFlags.continueAt != nil {
      let (report, hint) = await download(work.specification, to: path, by: parts.stack, parts.verbose)
      return (report, hint, true)
    }
    let file = try work.path.map { try makeFile($0) }
    let dump = try output.dumpHeader.flatMap { $0 == "-" ? nil : try makeFile($0) }
    do {
      let told = try await fetch(work, into: file, dump)
      // An existing file is kept unless a new body was received; a 304 has no body.
      if told.report.error == nil, told.report.status != 304 { try file?.commit() }
      try dump?.commit()
      return told
    } catch let error as ResponseOutput.WriteFailure {
      await parts.judge?.finish()
      throw Console.give(up: error)
    } catch let error as OutputFile.Failure {
      throw Self.give(up: error)
    }
  }

  private func fetch(_ work: Work, into file: OutputFile?, _ dump: OutputFile?) async throws -> Told {
    let sink = ResponseOutput(
      file.map { .descriptor($0.descriptor) } ?? (output.reports ? .nowhere : .descriptor(STDOUT_FILENO)))
    var interceptors: [any HTTPResourceInterceptor] = work.parts.verbose.map { [$0] } ?? []
    var heads: HeadPrinter?
    let isIncluded = output.include || request.head
    let dumped = output.dumpHeader == "-" && !output.reports ? STDOUT_FILENO : dump?.descriptor
    if isIncluded || dumped != nil {
      let recorder = HeadRecorder()
      interceptors.append(recorder)
      heads = HeadPrinter(recorder: recorder, isIncluded: isIncluded, dump: dumped)
    }
    var runner = Runner(stack: work.parts.stack, interceptors: interceptors, paginates: paginate)
    runner.dropsErrorBodies = output.fail
    var bar: ProgressBar?
    defer { bar?.finish() }
    let (report, hint) = try await runner.run(work.specification, into: sink, heads: heads) { count, total in
      if bar == nil { bar = ProgressBar(total: total, isEnabled: showsBar) }
      bar?.update(count)
    }
    return (report, hint, file != nil || output.reports || sink.endsLine)
  }

  private func makeFile(_ path: String) throws -> OutputFile {
    do throws(OutputFile.Failure) {
      return try OutputFile(path)
    } catch {
      throw Self.give(up: error)
    }
  }

  private static func give(up error: OutputFile.Failure) -> ExitCode {
    Console.error("lastro: \(error)")
    return error.isTimeout ? ExitStatus.of(.timeout) : ExitCode(1)
  }

  private func save(_ jar: CookieFlags.Jar) throws {
    do {
      try cookies.save(jar)
    } catch let error as CookieError {
      Console.error("lastro: \("\(error)".onOneLine)")
      throw ExitCode(1)
    }
  }

  var showsBar: Bool {
    Console.errorIsTerminal && !output.reports && !output.verbose && !output.silent && !output.hidesProgress
  }

  private func write(_ format: WriteOut?, _ report: Report, to path: String?) throws {
    guard let format else { return }
    let text = format.text(of: report, url: Runner.withoutUserInformation(url), path: path)
    do throws(ResponseOutput.WriteFailure) {
      try ResponseOutput.writeAll(Data(text.output.utf8), to: STDOUT_FILENO)
      try ResponseOutput.writeAll(Data(text.errors.utf8), to: STDERR_FILENO)
    } catch {
      throw Console.give(up: error)
    }
  }

  private func finish(_ report: Report, hint: String?, endsLine: Bool) throws {
    if output.reports { try Console.out(report.line) }
    if output.verbose, let ledger = report.ledger {
      // Start a new line, so that the ledger does not continue the body's last line.
      if !endsLine { Console.error("") }
      for line in "\(ledger)".split(separator: "\n") { Console.error("* \(line)") }
    }
    guard let error = report.error else { return }
    if !output.reports, output.tellsFailures {
      // Start a new line, so that the error does not continue the body's last line.
      if !endsLine, !output.verbose, Console.outputsMeet { Console.error("") }
      Console.tell(error, hint: way.hint(hint, of: error), trust: report.trustFailure, ledger: report.ledger)
    }
    throw ExitCode(report.exitStatus)
  }
}

/// The flags for downloading the body to a file that appears only once it is complete.
struct DownloadFlags: ParsableArguments {
  @Option(
    help: """
      File for the body, which has its name when all is there; one that is there is replaced. What comes stands in \
      FILE.part until then. A connection that is lost is gone on with.
      """)
  var download: String?
  @Option(
    name: [.customShort("C"), .customLong("continue-at")],
    help: """
      '-': go on where an earlier run was cut, if the server has the same file still. With -o, -O or --download: what \
      came stands in FILE.part.
      """)
  var continueAt: String?
  @Option(name: .customLong("expect-sha256"), help: "With --download: the file's SHA-256, in hexadecimal.")
  var expectSHA256: String?
  @Option(help: "With --download and '-C -': parts at the same time, 1 to 4. Default 1.")
  var segments: Int?

  func validate() throws {
    if let continueAt, continueAt != "-" {
      throw ValidationError("-C \(continueAt.onOneLine) is not supported; write '-C -' to resume where it was cut.")
    }
    if download != nil, segments ?? 1 > 1, continueAt == nil {
      throw ValidationError("--segments needs '-C -': a part left by several segments can only be resumed.")
    }
    guard download == nil else { return }
    for (name, isSet) in [
      ("--expect-sha256", expectSHA256 != nil), ("--segments", segments != nil),
    ] where isSet {
      throw ValidationError("\(name) needs --download FILE.")
    }
  }

  /// - Parameter limit: the value of `--max-body`.
  func options(limit: Int?) -> DownloadOptions {
    var options = DownloadOptions()
    options.resumes = continueAt != nil
    options.replaces = true
    options.maximumBytes = limit.map(Int64.init)
    options.digest = expectSHA256.map { .sha256($0) }
    options.segments = segments ?? 1
    return options
  }
}

extension FetchCommand {
  /// Downloads to a file, and returns a report like that of a fetch.
  func download(
    _ specification: RequestSpecification, to path: String, by stack: TransportNetworkStack,
    _ verbose: VerboseInterceptor?
  ) async -> (report: Report, hint: String?) {
    var report = Report(url: Runner.withoutUserInformation(specification.url))
    let resource: RawHTTPResource
    do {
      let own: [any HTTPResourceInterceptor] = verbose.map { [$0] } ?? []
      resource = .raw(try specification.request(), interceptors: own + (try specification.interceptors()))
    } catch let error as TransportError {
      report.fail(error.stage, error.code, error.message)
      return (report, error.hint)
    } catch {
      report.fail(.request, .invalidOption, "\(error)")
      return (report, nil)
    }
    var options = downloadFlags.options(limit: specification.maxBody)
    let progress = TransferProgressReporter()
    options.progress = progress
    async let bar: Void = show(progress)
    let result = await Self.result(of: resource, to: path, by: stack, options)
    await bar
    let hint = add(result, to: &report)
    return (report, hint)
  }

  /// Downloads until the end, or until SIGINT or SIGTERM, after which a resumable download writes its state.
  private static func result(
    of resource: RawHTTPResource, to path: String, by stack: TransportNetworkStack, _ options: DownloadOptions
  ) async -> Result<DownloadedFile, HTTPFetchError<any Error>> {
    guard options.resumes else { return await download(resource, to: path, by: stack, options) }
    let task = Task { await download(resource, to: path, by: stack, options) }
    let signals = Signals { task.cancel() }
    defer { signals.restore() }
    return await task.value
  }

  private static func download(
    _ resource: RawHTTPResource, to path: String, by stack: TransportNetworkStack, _ options: DownloadOptions
  ) async -> Result<DownloadedFile, HTTPFetchError<any Error>> {
    do throws(HTTPFetchError<any Error>) {
      return .success(try await stack.download(resource, to: path, options: options))
    } catch {
      return .failure(error)
    }
  }

  /// - Returns: the hint for a failure.
  private func add(
    _ result: Result<DownloadedFile, HTTPFetchError<any Error>>, to report: inout Report
  ) -> String? {
    switch result {
    case .success(let file):
      report.bodyBytes = file.length
      report.downloadedBytes = file.length - file.resumedFrom
      if let obstacle = file.resumeObstacle, output.verbose, downloadFlags.continueAt != nil {
        Console.error("* this download could not have been resumed: \(obstacle.onOneLine)")
      }
      if let response = file.response {
        report.add(response, facts: nil)
        report.add(response.ledger)
      }
      return nil
    case .failure(let error):
      if let response = error.response { report.add(response, facts: nil) }
      report.add(error.ledger)
      report.fail(error)
      return error.hint
    }
  }

  private func show(_ progress: TransferProgressReporter) async {
    var bar: ProgressBar?
    for await step in progress.updates {
      if bar == nil {
        bar = ProgressBar(total: step.totalBytesToReceive, isEnabled: showsBar)
      }
      bar?.update(step.bytesReceived)
    }
    bar?.finish()
  }
}
