// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro
import LastroObservability

/// All requests of a command line, in order, or at the same time with `-Z`.
struct FetchLine {
  /// The requests. Options that curl calls global hold for all of them.
  let requests: [FetchCommand]

  /// The default of `--parallel-max`, as in curl.
  private static let defaultWidth = 50

  init(_ requests: [FetchCommand]) {
    var requests = requests
    for index in requests.indices {
      requests[index].output.silent = requests.contains { $0.output.silent }
      requests[index].output.showError = requests.contains { $0.output.showError }
      requests[index].output.verbose = requests.contains { $0.output.verbose }
    }
    self.requests = requests
  }

  private var isParallel: Bool { requests.contains { $0.transfers.parallel } }
  private var failsEarly: Bool { requests.contains { $0.transfers.failEarly } }
  private var width: Int { requests.compactMap(\.transfers.parallelMax).first ?? Self.defaultWidth }

  /// Fetches all URLs.
  ///
  /// - Throws: the exit status of the first URL that failed, in the order of the command line.
  func run() async throws {
    let archive = requests.contains { $0.output.har != nil } ? HARRecorder() : nil
    let trace = try openTrace()
    let sessions = requests.map { FetchSession($0, archive: archive, trace: trace, inParallel: isParallel) }
    var codes: [(place: Int, code: ExitCode)] = []
    do {
      codes = isParallel ? try await runTogether(sessions) : try await runInOrder(sessions)
    } catch {
      for session in sessions { await session.close() }
      throw error
    }
    for session in sessions { await session.close() }
    for session in sessions { try session.saveCookies() }
    try write(archive)
    if let failure = trace?.failure { throw failure }
    if let first = codes.min(by: { $0.place < $1.place }) { throw first.code }
  }

  private func runInOrder(_ sessions: [FetchSession]) async throws -> [(place: Int, code: ExitCode)] {
    var codes: [(place: Int, code: ExitCode)] = []
    var place = 0
    for session in sessions {
      for index in session.command.urls.indices {
        let transfer = try session.prepare(index, number: place)
        let outcome = try await session.perform(transfer)
        if index == session.command.urls.count - 1 { await session.close() }
        if let code = try session.conclude(transfer, outcome) {
          codes.append((place, code))
          if failsEarly { return codes }
        }
        place += 1
      }
    }
    return codes
  }

  private func runTogether(_ sessions: [FetchSession]) async throws -> [(place: Int, code: ExitCode)] {
    var waiting: [(FetchSession, FetchSession.Transfer)] = []
    for session in sessions {
      for index in session.command.urls.indices {
        waiting.append((session, try session.prepare(index, number: waiting.count)))
      }
    }
    let width = width
    let failsEarly = failsEarly
    return try await withThrowingTaskGroup(of: (Int, FetchSession.Outcome).self) { group in
      var next = 0
      var codes: [(place: Int, code: ExitCode)] = []
      func start() {
        guard next < waiting.count else { return }
        let (place, (session, transfer)) = (next, waiting[next])
        group.addTask { (place, try await session.perform(transfer)) }
        next += 1
      }
      for _ in 0..<width { start() }
      while let (place, outcome) = try await group.next() {
        let (session, transfer) = waiting[place]
        if let code = try session.conclude(transfer, outcome) {
          codes.append((place, code))
          if failsEarly {
            group.cancelAll()
            return [(place, code)]
          }
        }
        start()
      }
      return codes
    }
  }

  /// Opens the file of `--trace` or `--trace-ascii`.
  private func openTrace() throws -> TraceLog? {
    let outputs = requests.map(\.output)
    guard let output = outputs.first(where: { $0.trace != nil || $0.traceASCII != nil }),
      let path = output.trace ?? output.traceASCII
    else { return nil }
    return try TraceLog(path, style: output.trace == nil ? .ascii : .hexadecimal)
  }

  private func write(_ archive: HARRecorder?) throws {
    guard let archive, let path = requests.lazy.compactMap(\.output.har).first else { return }
    let data = try Console.checked { try archive.har() }
    guard path != "-" else { return try ResponseOutput.writeAll(data, to: 1) }
    let file = try OutputFile(path)
    try ResponseOutput.writeAll(data, to: file.descriptor)
    try file.commit()
  }
}
