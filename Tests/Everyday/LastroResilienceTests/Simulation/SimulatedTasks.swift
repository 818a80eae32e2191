// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import Testing

/// An executor that runs tasks on simulated time and one thread, so that every run has the same order. Ready tasks run
/// in turn, and time jumps when no task is ready. A task may wait only for limits of the executor's clock.
final class SimulatedTasks: TaskExecutor {
  let clock = ManualClock()
  private let ready = Lock<(jobs: [UnownedJob], head: Int)>(([], 0))

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    ready.withLock { $0.jobs.append(job) }
  }

  /// Runs an operation to its end and returns its value, or `nil` if it waits for an event that never comes.
  func run<Value: Sendable>(_ operation: @escaping @Sendable () async -> Value) -> Value? {
    let value = Lock<Value?>(nil)
    let task = Task(executorPreference: self) {
      let made = await operation()
      value.withLock { $0 = made }
    }
    settle()
    while value.withLock({ $0 == nil }), let next = clock.nextLimit {
      clock.advance(by: next - clock.now)
      settle()
    }
    task.cancel()
    settle()
    return value.withLock { $0 }
  }

  private func settle() {
    while let job = take() { job.runSynchronously(on: asUnownedTaskExecutor()) }
  }

  private func take() -> UnownedJob? {
    ready.withLock { ready in
      guard ready.head < ready.jobs.count else {
        ready = ([], 0)
        return nil
      }
      ready.head += 1
      return ready.jobs[ready.head - 1]
    }
  }
}

/// A transport whose requests each take a scripted time and have a scripted end.
final class TimedTransport: Transport {
  enum End: Sendable, Hashable {
    case status(Int, retryAfter: Bool = false)
    case fails(FailureStage, FailureCode)
    /// The request lasts until it is cancelled or its deadline passes.
    case hangs
  }

  struct Record: Sendable, Hashable {
    var start: Duration
    /// The end of the request, as ``word(_:)`` describes it; `nil` while the request is under way.
    var end: String?
  }

  private let script: @Sendable (_ number: Int) -> (end: End, after: Duration)
  private let time: TimeSource
  private let state = Lock<[Record]>([])

  var records: [Record] { state.withLock { $0 } }

  init(_ time: TimeSource, _ script: @escaping @Sendable (_ number: Int) -> (end: End, after: Duration)) {
    (self.time, self.script) = (time, script)
  }

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    let number = state.withLock { records in
      records.append(Record(start: time.now()))
      return records.count - 1
    }
    let result: Result<TransferResponse, TransportError>
    do throws(TransportError) {
      result = .success(try await perform(request, number))
    } catch {
      result = .failure(error)
    }
    state.withLock { $0[number].end = Self.word(result) }
    return try result.get()
  }

  private func perform(_ request: TransferRequest, _ number: Int) async throws(TransportError) -> TransferResponse {
    let (end, after) = script(number)
    let length = end == .hangs ? .seconds(1_000) : after
    do { try await time.limit(min(length, request.deadline ?? length)) } catch { throw .cancelled(requestSent: true) }
    if let deadline = request.deadline, deadline < length {
      throw TransportError(stage: .timeout, code: request.deadlineCode, message: "late", requestSent: true)
    }
    switch end {
    case .hangs: throw TransportError(stage: .response, code: .connectionLost, message: "", requestSent: true)
    case .fails(let stage, let code):
      throw TransportError(stage: stage, code: code, message: "", requestSent: stage != .connect)
    case .status(let code, let asks):
      let body = ResponseBody(Data("try \(number)".utf8))
      return TransferResponse(
        head: HTTPResponse(status: .init(code: code), headerFields: asks ? [.retryAfter: "1"] : [:]), body: body)
    }
  }

  static func word(_ result: Result<TransferResponse, TransportError>) -> String {
    switch result {
    case .success(let answer):
      "\(answer.head.status.code) \(String(decoding: answer.body.bytes ?? Data(), as: UTF8.self))"
    case .failure(let error): "\(error.stage.rawValue)/\(error.code)"
    }
  }
}

@Suite("Simulated tasks", .timeLimit(.minutes(5)))
struct SimulatedTasksTests {
  @Test("Tasks of a group run in turn, time jumps to the next due one, and a deadlock is detected")
  func order() {
    let tasks = SimulatedTasks()
    let time = tasks.clock.timeSource
    let order = tasks.run {
      await withTaskGroup(of: Int.self) { group in
        for wait in [3, 1, 2] {
          group.addTask {
            try? await time.limit(.seconds(wait))
            return wait
          }
        }
        return await group.reduce(into: [Int]()) { $0.append($1) }
      }
    }
    #expect(order == [1, 2, 3])
    #expect(tasks.clock.now == .seconds(3))
    let never = OneAnswer<Void>()
    #expect(tasks.run { await never.wait() } == nil)
    never.give(())
    // A task that never ends is never freed. The next run lets the resumed task end.
    #expect(tasks.run { true } == true)
  }
}
