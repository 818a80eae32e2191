// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

extension FailureCode {
  /// The server's response does not fit the part of the file that is already on disk.
  public static let resumeMismatch = Self("resume_mismatch")
  /// The file does not have the expected digest. The downloaded bytes were removed.
  public static let digestMismatch = Self("digest_mismatch")
  /// Another download, in this process or another, is writing the same file.
  public static let downloadInProgress = Self("download_in_progress")
}

extension TransportError {
  static func resumeMismatch(_ reason: String, hint: String) -> Self {
    Self(
      stage: .response, code: .resumeMismatch, message: "the download cannot continue: \(reason)", hint: hint,
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
      hint: "the received bytes were removed: download it again, or check the source of the expected digest",
      requestSent: true)
  }

  static func inProgress(_ path: String) -> Self {
    .refused(
      .downloadInProgress, "another download writes \(path.escapedForDisplay)",
      hint: "wait for its end, or download to another path")
  }
}

extension DownloadMachine.Failure {
  /// The error to throw; `nil` for a failure that carries its own error.
  var transportError: TransportError? {
    switch self {
    case .mismatch(let reason):
      .resumeMismatch(
        reason, hint: "check the server or a cache in front of it: requesting the whole file did not help")
    case .changed(let times):
      .resumeMismatch(
        times == 1
          ? "the file on the server has changed, or its rest is not served"
          : "the file on the server changed \(times) times",
        hint: "download it when it does not change, or raise maximumRestarts")
    case .tooLarge(let limit): .downloadTooLarge(limit)
    case .unexpectedStatus, .asItIs: nil
    }
  }
}
