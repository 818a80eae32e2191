// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// How an upload and its server find out how much of it is there.
public enum UploadProtocol: String, Sendable, Hashable, Codable {
  /// tus 1.0.0: creation, and termination.
  case tus
  /// Resumable Uploads for HTTP (draft-ietf-httpbis-resumable-upload), interop version 8.
  case draft
}

/// How a file is uploaded so that it can be gone on with.
public struct UploadOptions: Sendable {
  /// What the first request carries.
  public enum Strategy: Sendable, Hashable {
    /// Nothing: the upload is made first. With tus it is always so.
    case careful
    /// The whole content, which a server that knows nothing of going on takes as it is. Where it names no upload (104)
    /// before the connection is lost, the upload fails, because the content may have been taken.
    case optimistic
  }

  /// Default ``UploadProtocol/tus``.
  public var uploadProtocol: UploadProtocol
  /// Default ``Strategy/careful``.
  public var strategy: Strategy = .careful
  /// Most bytes of one request, for servers and proxies that take no more. Default `nil`: all that is left; after an
  /// answer 413 half of it, and so on.
  public var bytesPerAppend: Int64?
  /// `Upload-Metadata` of tus, such as `["filename": "a.mov"]`. Values are sent in base64. Default none.
  public var metadata: [String: String] = [:]
  /// Whether the server is told the SHA-256 of the whole, and of what each request carries, so that it can refuse what
  /// was damaged: by `Repr-Digest` and `Content-Digest` (RFC 9530). The file is read once more for each of the two. By
  /// the draft alone: with tus, whose servers have to know SHA-1 only, it is refused. Default false.
  public var sendsDigests = false
  /// Origins besides that of the first request that may get its credentials, where the server puts the upload there.
  /// Default none.
  public var credentialOrigins: Set<Origin> = []
  /// Decides about going on after a loss. It is asked with the losses before this one since the server last had more.
  /// Default: the standard policy, which retries twice.
  public var retries: HTTPRetryPolicy = .standard
  /// Is told how many bytes were handed over. Default `nil`.
  public var progress: TransferProgressReporter?
  /// Is told once where the upload is, for another process to go on (`resumeUpload(_:of:as:options:)`). Called on
  /// the task of the upload. Default `nil`.
  public var onToken: (@Sendable (UploadToken) -> Void)?
  /// Where the times of waits come from. Default: the continuous clock.
  public var timeSource: TimeSource = .continuous

  var files: any FileLayer = SystemFiles()

  /// Makes the options of a protocol.
  public init(_ uploadProtocol: UploadProtocol = .tus) { self.uploadProtocol = uploadProtocol }

  /// - Throws: a refusal of what makes no sense.
  func check() throws(TransportError) {
    if let bytesPerAppend, bytesPerAppend < 1 {
      throw .refused(
        .invalidOption, "bytesPerAppend is \(bytesPerAppend), below the minimum of 1", hint: "give 1 or more")
    }
    if sendsDigests, uploadProtocol == .tus {
      throw .refused(
        .invalidOption, "sendsDigests does not go with tus", hint: "use the draft, or have the server check the file")
    }
    for name in metadata.keys where name.isEmpty || name.utf8.contains(where: { $0 <= 0x20 || $0 > 0x7E || $0 == 0x2C })
    {
      throw .refused(
        .invalidOption, "\"\(name.prefix(40).escapedForDisplay)\" cannot be a name of Upload-Metadata",
        hint: "write ASCII without spaces and commas")
    }
  }
}

/// Where an upload is, for another process to go on with it. It has no credentials in it, unless its URL is one.
public struct UploadToken: Sendable, Hashable, Codable {
  /// The upload's URL.
  public var url: String
  /// The protocol that it was begun by.
  public var uploadProtocol: UploadProtocol
  /// Length of the file in bytes.
  public var length: Int64
  /// When the file was last changed, in nanoseconds since 1970: a file that was changed since is refused.
  public var modified: Int64

  /// Makes a token of what was kept.
  public init(url: String, uploadProtocol: UploadProtocol, length: Int64, modified: Int64) {
    self.url = url
    self.uploadProtocol = uploadProtocol
    self.length = length
    self.modified = modified
  }
}

/// A file that was uploaded: the server has all of it.
public struct UploadedFile: Sendable {
  /// URL of the upload; `nil` where the server took the content as it is.
  public var url: String?
  /// Number of bytes.
  public var length: Int64
  /// How many of them the server had when an earlier upload was gone on with.
  public var resumedFrom: Int64
  /// How many requests were sent.
  public var requests: Int
  /// The last answer: of the draft it is the target's own, unless it was lost.
  public var response: ResourceResponse
}
