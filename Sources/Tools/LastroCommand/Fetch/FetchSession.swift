// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Lastro
import LastroCurl
import LastroEveryday
import LastroObservability
import LastroSupport

/// The URLs of one request, fetched with the same engine, cookies and cache.
final class FetchSession: Sendable {
  /// The objects that all URLs of the request share.
  private struct Parts {
    let engine: CurlTransport
    let settings: CurlConfiguration
    let cache: HTTPCache?
    let judge: PinJudge?
  }

  /// The parts of one fetch.
  struct Work: Sendable {
    let specification: RequestSpecification
    let stack: TransportNetworkStack
    let recorder: CallRecorder?
    let verbose: VerboseInterceptor?
    let path: String?
  }

  /// A fetch that is ready, or the failure that is known before anything is sent.
  struct Transfer: Sendable {
    let url: String
    /// The place among all URLs of the command line.
    let number: Int
    let format: WriteOut?
    let work: Result<Work, Refusal>
  }

  struct Refusal: Error {
    let report: Report
  }

  /// The result of a fetch.
  struct Outcome: Sendable {
    var report: Report
    var endsLine = true
    /// The body for standard output, if it was kept in memory.
    var kept = Data()
    /// The path of the file with the body, if the server named it.
    var offeredPath: String?
  }

  let command: FetchCommand
  private let archive: HARRecorder?
  private let trace: TraceLog?
  private let isParallel: Bool
  private let parts = Lock<Parts?>(nil)
  private let jar = Lock<CookieFlags.Jar?>(nil)

  init(_ command: FetchCommand, archive: HARRecorder?, trace: TraceLog?, inParallel isParallel: Bool) {
    (self.command, self.archive, self.trace, self.isParallel) = (command, archive, trace, isParallel)
  }

  private var output: OutputFlags { command.output }

  /// Prepares the fetch of a URL.
  ///
  /// - Throws: `ValidationError` for flags that contradict each other; an exit status if a file cannot be read.
  func prepare(_ index: Int, number: Int) throws -> Transfer {
    let url = command.urls[index]
    do {
      let work = try work(index)
      return Transfer(url: url, number: number, format: try output.format(), work: .success(work))
    } catch {
      var report = Report(url: Runner.withoutUserInformation(url))
      switch error {
      case is ConfigurationError: report.error = Report.Failure(error)
      case let error as TransportError where error.stage == .request || error.stage == .timeout:
        report.error = Report.Failure(error)
      default: throw error
      }
      return Transfer(url: url, number: number, format: nil, work: .failure(Refusal(report: report)))
    }
  }

  private func work(_ index: Int) throws -> Work {
    var specification = try command.specification(for: command.urls[index])
    WriteDeadline.set(seconds: specification.timeout)
    let given = try command.cookies.jar(for: &specification, reusing: jar.withLock { $0 }?.jar)
    jar.withLock { $0 = given }
    let parts = try parts(for: specification)
    var configuration = given.configuration
    configuration.cache = parts.cache
    if let archive { configuration.observers.append(archive) }
    let recorder = try output.record.map { try CallRecorder(directory: $0, keeps: .every) }
    configuration.recorder = recorder
    var stack = try command.stack(on: parts.engine, configuration: configuration)
    if let trace {
      let transport = TracingTransport(base: stack.transport, log: trace, engine: parts.settings)
      stack = TransportNetworkStack(transport: transport, configuration: stack.configuration)
    }
    return Work(
      specification: specification, stack: stack, recorder: recorder,
      verbose: output.verbose ? VerboseInterceptor(engine: parts.settings) : nil,
      path: try command.downloadFlags.download ?? output.path(for: specification.url, index: index))
  }

  private func parts(for specification: RequestSpecification) throws -> Parts {
    if let made = parts.withLock({ $0 }) { return made }
    let cache = try command.cached.cache(over: command.wayOfTransport(for: specification))
    let judge = try command.pins.judge()
    var settings = command.engine(judge, for: specification)
    if output.raw { settings.decompresses = false }
    let made = Parts(engine: try CurlTransport(settings), settings: settings, cache: cache, judge: judge)
    parts.withLock { $0 = made }
    return made
  }

  /// Fetches a URL.
  func perform(_ transfer: Transfer) async throws -> Outcome {
    let work: Work
    switch transfer.work {
    case .failure(let refusal): return Outcome(report: refusal.report)
    case .success(let ready): work = ready
    }
    WriteDeadline.set(seconds: work.specification.timeout)
    if let path = work.path, command.downloadFlags.download != nil || command.downloadFlags.continueAt != nil {
      return Outcome(report: await command.download(work.specification, to: path, by: work.stack, work.verbose))
    }
    let file = try work.path.map { try OutputFile($0) }
    let dump = try output.dumpHeader.flatMap { $0 == "-" ? nil : try OutputFile($0) }
    var outcome = try await fetch(work, into: file, dump)
    // An existing file is kept unless a new body was received; a 304 has no body.
    if outcome.report.error == nil, outcome.report.status != 304 {
      try file?.commit(named: output.offeredName ? outcome.report.offeredName : nil)
      outcome.offeredPath = file?.offeredPath
    }
    try dump?.commit()
    return outcome
  }

  private func fetch(_ work: Work, into file: OutputFile?, _ dump: OutputFile?) async throws -> Outcome {
    let keeps = isParallel && file == nil && !output.reports
    let sink = ResponseOutput(
      file.map { .descriptor($0.descriptor) }
        ?? (output.reports ? .nowhere : keeps ? .memory : .descriptor(STDOUT_FILENO)), hashes: output.reports)
    if file == nil, !output.reports { sink.indentsJSON = output.indentation }
    var interceptors: [any HTTPResourceInterceptor] = work.verbose.map { [$0] } ?? []
    var heads: HeadPrinter?
    let isIncluded = output.include || command.request.head
    let dumped = output.dumpHeader == "-" && !output.reports ? STDOUT_FILENO : dump?.descriptor
    if isIncluded || dumped != nil {
      let recorder = HeadRecorder()
      interceptors.append(recorder)
      heads = HeadPrinter(recorder: recorder, isIncluded: isIncluded, dump: dumped)
    }
    var runner = Runner(stack: work.stack, interceptors: interceptors, paginates: command.paginate)
    runner.dropsErrorBodies = output.fail
    runner.bytesPerSecond = command.transfers.rate
    let showsBar = command.showsBar && !isParallel
    var bar: ProgressBar?
    defer { bar?.erase() }
    let report = try await runner.run(work.specification, into: sink, heads: heads) { count, total in
      if bar == nil { bar = ProgressBar(total: total, isEnabled: showsBar) }
      bar?.update(count)
    }
    try sink.writeHeldBody()
    if let error = work.recorder?.writeError { Console.error("lastro: \("\(error)".onOneLine)") }
    return Outcome(
      report: report, endsLine: file != nil || output.reports || sink.endsLine,
      kept: keeps ? sink.kept : Data())
  }

  /// Prints the result of a fetch.
  ///
  /// - Returns: the exit status of a failure.
  func conclude(_ transfer: Transfer, _ outcome: Outcome) throws -> ExitCode? {
    let path = try? outcome.offeredPath ?? transfer.work.get().path
    try ResponseOutput.writeAll(outcome.kept, to: STDOUT_FILENO)
    try command.condition.keep(outcome.report, path: path)
    if let text = transfer.format?.text(
      of: outcome.report, url: Runner.withoutUserInformation(transfer.url), path: path, number: transfer.number)
    {
      try ResponseOutput.writeAll(Data(text.output.utf8), to: STDOUT_FILENO)
      try ResponseOutput.writeAll(Data(text.errors.utf8), to: STDERR_FILENO)
    }
    if output.reports { try Console.out(outcome.report.jsonLine) }
    tell(transfer, outcome)
    return outcome.report.error == nil ? nil : ExitCode(outcome.report.exitStatus)
  }

  private func tell(_ transfer: Transfer, _ outcome: Outcome) {
    let report = outcome.report
    if output.verbose, let ledger = report.ledger {
      // Start a new line, so that the ledger does not continue the body's last line.
      if !outcome.endsLine { Console.error("") }
      for line in "\(ledger)".split(separator: "\n") { Console.error("* \(line)") }
    }
    guard var error = report.error, !output.reports, output.tellsFailures else { return }
    // Start a new line, so that the error does not continue the body's last line.
    if !outcome.endsLine, !output.verbose, Console.outputsMeet { Console.error("") }
    error.hint = command.way.hint(of: error)
    if [.untrustedCertificate, .hostMismatch].contains(error.code), NearHost.contains(NearHost.host(of: report.url)) {
      error.hint = error.hint.map { "\($0); -k accepts any certificate of this address" }
    }
    if error.stage == .tls, SchemelessURL.completed(transfer.url) != nil {
      let other = error.hint.map { "; else \($0)" } ?? ""
      error.hint = "write http:// in front of the URL if the server speaks plain HTTP" + other
    }
    Console.tell(error, trust: report.trustFailure, ledger: report.ledger)
  }

  /// Closes the connections. Later calls do nothing.
  func close() async {
    let open = parts.withLock { parts in
      defer { parts = nil }
      return parts
    }
    guard let open else { return }
    await open.cache?.finishRevalidations()
    await open.engine.shutDown(cancelling: true)
    await open.judge?.flushReports()
  }

  /// Writes the cookies to the file of `-c`.
  func saveCookies() throws {
    guard let jar = jar.withLock({ $0 }) else { return }
    do {
      try command.cookies.save(jar)
    } catch let error as ConfigurationError {
      Console.error("lastro: \("\(error)".onOneLine)")
      throw ExitCode(1)
    }
  }
}

extension FetchCommand {
  var showsBar: Bool {
    Console.errorIsTerminal && !output.reports && !output.verbose && !output.silent && !output.hidesProgress
  }
}
