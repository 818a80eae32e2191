// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro

extension Transfer {
  /// Most bytes, and the longest time, that are spent on the rest of a body for the sake of its connection.
  private static let drainedBytes: Int64 = 16 * 1024
  private static let drainTime = Duration.seconds(1)

  /// Answers with a head alone. Of a short body the rest is read behind the caller's back, so that the connection can be used
  /// again; of every other one nothing is. Over HTTP/2 that resets the stream only.
  ///
  /// - Returns: whether the transfer goes on.
  func answerAtHead(_ response: HTTPResponse) -> Bool {
    sink = .drop
    guard leavesLittle else {
      wasCut = true
      return false
    }
    drainsUntil = lastActivity.adding(Self.drainTime)
    deliveries.answer(job, .success(TransferResponse(head: response, body: ResponseBody(collected), facts: facts())))
    host.noteDrain(self)
    return true
  }

  private var leavesLittle: Bool {
    // What of the request is still to be sent has no length that a server would wait for.
    guard job.request.body.isEmpty || job.request.body.length == Int64(uploadOffset) else { return false }
    guard let length = bodyLength else { return !announcesBody }
    return length <= Self.drainedBytes
  }
}
