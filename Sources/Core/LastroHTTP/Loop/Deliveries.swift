// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// The tasks to wake at the end of a turn of the loop, because a response or a part of a body has arrived for them.
///
/// Waking a task costs a system call and, on a busy machine, the loop's processor, so many tasks are woken together. A
/// body arrives in pieces of 16 KiB. Waking its reader for each piece would cost more than receiving the piece.
final class Deliveries {
  /// The number of waiting tasks at which they are woken before the turn ends, because other processors are idle
  /// meanwhile.
  private static let most = 16
  /// The time, in nanoseconds, for which the reader of a large body waits for more of it.
  private static let patience: Int64 = 1_000_000

  // Unchecked because only the loop accesses it, and a task that is woken does not run within the access.
  @exclusivity(unchecked) private var waiters: [OneAnswer<EngineJob.Answer>.Waiter] = []
  private var readers: [EngineJob] = []
  /// The time at which readers that wait for more bytes are woken.
  private(set) var due = Int64.max

  /// Answers a job. Returns false if the job has an answer already, because its caller cancelled it.
  @discardableResult
  func answer(_ job: EngineJob, _ answer: consuming EngineJob.Answer) -> Bool {
    let (isFirst, waiter) = job.answer.settle(answer)
    guard let waiter else { return isFirst }
    waiters.append(waiter)
    if waiters.count == Self.most { wakeWaiters() }
    return true
  }

  /// Schedules the wake-up of a job's reader, because bytes of the body have arrived for it.
  func scheduleReader(of job: EngineJob) { readers.append(job) }

  func send(now: Int64) {
    wakeWaiters()
    if readers.isEmpty { return }
    let isOver = now >= due
    readers.removeAll { job in
      if !isOver, job.body?.isGathering == true { return false }
      job.body?.wakeReader { [job] in job.resumeReceiving() }
      return true
    }
    due = readers.isEmpty ? .max : min(due, now.adding(nanoseconds: Self.patience))
  }

  private func wakeWaiters() {
    for waiter in waiters { waiter.resume() }
    waiters.removeAll(keepingCapacity: true)
  }
}
