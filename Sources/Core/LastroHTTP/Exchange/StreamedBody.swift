// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro

/// The reader's end of a streamed body.
final class StreamedBody: ResponseBodySource {
  private let job: EngineJob
  private let channel: BodyChannel

  init(_ job: EngineJob, _ channel: BodyChannel) {
    self.job = job
    self.channel = channel
  }

  var finalFacts: TransferFacts? { channel.finalFacts }

  func next() async throws(TransportError) -> Data? {
    let result = await withTaskCancellationHandler {
      await channel.take { [job] in job.resumeReceiving() }
    } onCancel: { [job] in
      job.cancel()
    }
    return try result.get()
  }

  func setPriority(_ priority: RequestPriority) { job.setPriority(priority) }

  func cancel() {
    if !channel.isFinished { job.cancel() }
  }
}
