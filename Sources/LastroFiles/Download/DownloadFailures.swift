// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

extension FailureCode {
  /// What the server sends does not belong to what is there of the file.
  public static let resumeMismatch = Self("resume_mismatch")
  /// The bytes are not those of the digest. They were removed.
  public static let digestMismatch = Self("digest_mismatch")
  /// Another download, of this process or another, writes the same file.
  public static let downloadInProgress = Self("download_in_progress")
}

extension TransportError {
  static func resumeMismatch(_ reason: String, hint: String) -> Self {
    Self(
      stage: .response, code: .resumeMismatch, message: "the download cannot go on: \(reason)", hint: hint,
      requestSent: true)
  }

  static func downloadTooLarge(_ limit: Int64) -> Self {
    Self(
      stage: .limit, code: .bodyTooLarge, message: "the file has more than \(limit.counted("byte"))",
      hint: "raise maximumBytes if so much is expected", requestSent: true)
  }

  static func digestMismatch(_ digest: Digest, found: MessageDigest, of path: String) -> Self {
    Self(
      stage: .response, code: .digestMismatch,
      message: "\(path.escapedForDisplay) has the \(digest.algorithm) digest \(found), not \(digest.value)",
      hint: "what came was removed: download it again, or look at where the expected digest is from", requestSent: true)
  }

  static func inProgress(_ path: String) -> Self {
    .refused(
      .downloadInProgress, "another download writes \(path.escapedForDisplay)",
      hint: "wait for its end, or download to another path")
  }
}

extension DownloadMachine.Failure {
  /// The error; `nil` for a failure that has its own.
  var transportError: TransportError? {
    switch self {
    case .mismatch(let reason):
      .resumeMismatch(
        reason, hint: "look at the server or a cache in front of it: asking for the whole file did not help")
    case .changed(let times):
      .resumeMismatch(
        times == 1
          ? "the server has something else, or does not serve the rest"
          : "the server had something else \(times) times",
        hint: "download it when it does not change, or raise the limit of onChange")
    case .tooLarge(let limit): .downloadTooLarge(limit)
    case .unexpectedStatus, .asItIs: nil
    }
  }
}
