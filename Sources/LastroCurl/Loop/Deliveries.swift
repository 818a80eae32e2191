// SPDX-License-Identifier: Apache-2.0

/// Bodies whose readers wait for what came during a turn of the loop. They are woken at its end: libcurl gives a body in
/// pieces of 16 KiB, and waking a reader for each costs more than receiving it.
final class Deliveries {
  private var jobs: [TransferJob] = []

  func add(_ job: TransferJob) { jobs.append(job) }

  func handOver() {
    if jobs.isEmpty { return }
    for job in jobs {
      job.body?.handOver { [job] in _ = job.loop.post(.resumeReceiving(job)) }
    }
    jobs.removeAll(keepingCapacity: true)
  }
}
