// SPDX-License-Identifier: Apache-2.0

package import Lastro

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// What a body comes from, as its reader needs it.
package protocol BodyBringer: AnyObject, Sendable {
  /// There is room for the body again.
  func resumeReceiving()
  /// The task that waits for more is cancelled.
  func readerCancelled()
  /// The body is not wanted any more.
  func readerLeft()
}

/// The reader's end of a streamed body.
package final class StreamedBody: ResponseBodySource {
  private let job: any BodyBringer
  private let channel: BodyChannel

  package init(_ job: any BodyBringer, _ channel: BodyChannel) {
    self.job = job
    self.channel = channel
  }

  package var finalFacts: TransferFacts? { channel.finalFacts }

  package func next() async throws(TransportError) -> Data? {
    let result = await withTaskCancellationHandler {
      await channel.take { [job] in job.resumeReceiving() }
    } onCancel: { [job] in
      job.readerCancelled()
    }
    return try result.get()
  }

  package func cancel() {
    if !channel.isFinished { job.readerLeft() }
  }
}
