// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro

/// The progress of a request body from its source to the runner: which bytes are next, and whether the source ended
/// where it had to.
///
/// No byte beyond an announced length is sent, so a longer source would be cut and still pass for complete. The source
/// is therefore asked once more after the last announced byte, and the request succeeds only when the source reports
/// its end.
///
/// It is stored inline in its ``Exchange``, and holds no reference: its functions take the job. Thread: the loop's.
struct UploadProgress {
  /// The number of bytes of the body that were handed to the runner.
  var offset = 0
  /// Whether the source has no bytes at the moment.
  var isPaused = false

  /// Returns the number of announced bytes that are left; `nil` if no length was announced.
  func rest(of job: EngineJob) -> Int64? { job.request.body.length.map { $0 - Int64(offset) } }

  /// Returns whether the body can be sent from its start again. A source that was read from cannot start over.
  func canStartOver(_ job: EngineJob) -> Bool { job.upload == nil || offset == 0 }

  /// Returns the next bytes of a body in memory, at most `count` of them.
  func next(of data: Data, upTo count: Int) -> Data { data.dropFirst(offset).prefix(count) }

  /// Reads the next bytes of the source, but none beyond the announced length: a server would read them as the next
  /// request.
  ///
  /// - Returns: the end, too, if all announced bytes were read. A failure if the source ended early: the server would
  ///   wait for the rest.
  mutating func read(from job: EngineJob, into buffer: UnsafeMutableRawBufferPointer) -> UploadChannel.Supply {
    let rest = rest(of: job)
    guard let upload = job.upload, rest != 0 else { return .end }
    switch upload.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: rest ?? .max)))) {
    case .end:
      guard let rest, rest > 0 else { return .end }
      return .failed(.sourceTooShort(Int64(offset), of: rest + Int64(offset)).afterSending)
    case .failed(let error): return .failed(error.afterSending)
    case .wait:
      isPaused = true
      return .wait
    case .bytes(let count): return .bytes(count)
    }
  }

  /// Returns the state of the source after the last announced byte; `nil` before that byte, and without a source or an
  /// announced length. A source that has neither ended nor given more wakes the loop when it does.
  func supplyAtEnd(of job: EngineJob) -> UploadChannel.Supply? {
    guard let upload = job.upload, rest(of: job) == 0 else { return nil }
    return upload.peek()
  }
}
