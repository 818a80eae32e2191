// SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import Lastro

/// A failed operation on the file system.
struct FileFailure: Error, Hashable {
  /// The operation, such as `open`.
  var operation: String
  var path: String
  /// The `errno` of the operation.
  var code: Int32

  /// Returns the failure as the error of a transfer.
  ///
  /// - Parameter requestSent: whether a request was sent before the failure.
  func transportError(requestSent: Bool) -> TransportError {
    let reason = String(cString: strerror(code))
    var error = TransportError(
      stage: requestSent ? .response : .request, code: failureCode,
      message: "cannot \(operation) \(path.escapedForDisplay): \(reason)", hint: hint, requestSent: requestSent)
    error.systemCode = code
    return error
  }

  private var failureCode: FailureCode {
    switch code {
    case ENOSPC, EDQUOT: .diskFull
    case EEXIST: .fileExists
    default: .fileFailed
    }
  }

  private var hint: String {
    switch code {
    case ENOSPC, EDQUOT: "free some space: the synced bytes are kept, and a later download resumes from them"
    case EEXIST: "choose another path, or let the download replace the file (replaces)"
    case EISDIR, ENOTSUP: "name a regular file, or one that does not exist yet"
    case ELOOP: "name a file that is not a symbolic link"
    default: "check that the folder exists, and that this process may write to it"
    }
  }
}

extension FailureCode {
  /// The file system is full, or the user's quota is used up.
  public static let diskFull = Self("disk_full")
  /// A file exists at the path of the transfer's file, and must not be replaced.
  public static let fileExists = Self("file_exists")
  /// A file operation failed; `systemCode` holds the reason.
  public static let fileFailed = Self("file_failed")
}
