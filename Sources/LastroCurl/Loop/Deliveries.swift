// SPDX-License-Identifier: Apache-2.0

internal import LastroExchange
internal import LastroSupport

/// Tasks to be woken at the end of a turn of the loop, because an answer or a part of a body is there for them.
///
/// Waking a task costs a call to the kernel, and on a busy machine the loop's processor: many are woken together.
/// A body comes in pieces of 16 KiB, and waking its reader for each would cost more than receiving it.
final class Deliveries {
  /// More are not kept waiting for the end of a turn: other processors have nothing to do meanwhile.
  private static let most = 16

  // Unchecked because the loop has it alone, and no task that is woken runs within.
  @exclusivity(unchecked) private var waiters: [OneAnswer<TransferJob.Answer>.Waiter] = []
  private var readers: [TransferJob] = []

  /// Answers a job.
  func answer(_ job: TransferJob, _ answer: consuming TransferJob.Answer) {
    guard let waiter = job.settle(answer) else { return }
    waiters.append(waiter)
    if waiters.count == Self.most { wakeWaiters() }
  }

  /// Notes that there is something for the reader of a job's body.
  func noteBody(of job: TransferJob) { readers.append(job) }

  func handOver() {
    wakeWaiters()
    if readers.isEmpty { return }
    for job in readers {
      job.body?.handOver { [job] in _ = job.loop.post(.resumeReceiving(job)) }
    }
    readers.removeAll(keepingCapacity: true)
  }

  private func wakeWaiters() {
    for waiter in waiters { waiter.wake() }
    waiters.removeAll(keepingCapacity: true)
  }
}
