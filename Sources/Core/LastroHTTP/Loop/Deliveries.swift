// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// Tasks to be woken at the end of a turn of the loop, because an answer or a part of a body is there for them.
///
/// Waking a task costs a call to the kernel, and on a busy machine the loop's processor: many are woken together.
/// A body comes in pieces of 16 KiB, and waking its reader for each would cost more than receiving it.
final class Deliveries {
  /// More are not kept waiting for the end of a turn: other processors have nothing to do meanwhile.
  private static let most = 16
  /// For so long the reader of a large body waits for more of it.
  private static let patience: Int64 = 1_000_000

  // Unchecked because the loop has it alone, and no task that is woken runs within.
  @exclusivity(unchecked) private var waiters: [OneAnswer<EngineJob.Answer>.Waiter] = []
  private var readers: [EngineJob] = []
  /// The time at which readers that wait for more are woken.
  private(set) var due = Int64.max

  /// Answers a job. False: its caller has given up.
  @discardableResult
  func answer(_ job: EngineJob, _ answer: consuming EngineJob.Answer) -> Bool {
    let (isFirst, waiter) = job.settle(answer)
    guard let waiter else { return isFirst }
    waiters.append(waiter)
    if waiters.count == Self.most { wakeWaiters() }
    return true
  }

  /// Notes that there is something for the reader of a job's body.
  func noteBody(of job: EngineJob) { readers.append(job) }

  func handOver(now: Int64) {
    wakeWaiters()
    if readers.isEmpty { return }
    let isOver = now >= due
    readers.removeAll { job in
      if !isOver, job.body?.isGathering == true { return false }
      job.body?.handOver { [job] in job.resumeReceiving() }
      return true
    }
    due = readers.isEmpty ? .max : min(due, now.adding(nanoseconds: Self.patience))
  }

  private func wakeWaiters() {
    for waiter in waiters { waiter.wake() }
    waiters.removeAll(keepingCapacity: true)
  }
}
