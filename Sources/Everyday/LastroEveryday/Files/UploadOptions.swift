// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// The protocol by which an upload and its server agree on how much of it has been received.
package enum UploadProtocol: String, Sendable, Hashable, Codable {
  /// tus 1.0.0, with creation and termination.
  case tus
  /// Resumable Uploads for HTTP (draft-ietf-httpbis-resumable-upload), interop version 8.
  case draft
}

/// The options of a resumable upload.
public struct UploadOptions: Sendable {
  /// Whether the upload uses Resumable Uploads for HTTP (draft-ietf-httpbis-resumable-upload, interop version 8) in
  /// place of tus 1.0.0. Default false. An upload that is resumed uses the protocol of its token.
  public var usesDraft: Bool {
    get { uploadProtocol == .draft }
    set { uploadProtocol = newValue ? .draft : .tus }
  }
  /// The protocol of the upload.
  package var uploadProtocol: UploadProtocol
  /// Whether the first request of the draft has the whole content, which also works with a server that does not support
  /// resumable uploads. If the connection is lost before the server names an upload (104), the upload fails, because
  /// the content may have been processed. Otherwise the first request has no content and creates the upload, as tus
  /// always does. Default false.
  public var sendsContentAtOnce = false
  /// The maximum number of bytes per append request, for servers and proxies that accept no more. Default `nil`: no
  /// limit. After a 413 response the size is halved.
  public var bytesPerAppend: Int64?
  /// The `Upload-Metadata` of tus, such as `["filename": "a.mov"]`. Values are sent in base64. Default: none.
  public var metadata: [String: String] = [:]
  /// Whether the SHA-256 digests of the whole file and of each request's content are sent, so that the server can
  /// reject damaged content: by `Repr-Digest` and `Content-Digest` (RFC 9530). The file is read once more for each of
  /// the two. Only the draft supports this: with tus, whose servers need to support SHA-1 only, it is refused. Default
  /// false.
  public var sendsDigests = false
  /// Origins besides that of the first request that may get its credentials, if the server puts the upload there.
  /// Default: none.
  public var credentialOrigins: Set<Origin> = []
  /// The policy that decides whether to resume after a loss. It gets the consecutive losses since the server last
  /// received more. Default: the standard policy, which retries twice.
  public var retries: HTTPRetryPolicy = .standard
  /// A reporter of the number of bytes read for sending. Default `nil`.
  public var progress: TransferProgressReporter?
  /// A handler that is called once with a token for the upload, by which another process can resume it
  /// (`upload(file:to:resuming:options:progress:)`). Called on the task of the upload. Default `nil`.
  public var onToken: (@Sendable (UploadToken) -> Void)?

  /// The clock for waits, which is the stack's.
  var timeSource: TimeSource = .continuous
  var files: any FileLayer = SystemFiles()

  /// Creates the default options.
  public init() { self.init(.tus) }

  /// Creates the options for a protocol.
  package init(_ uploadProtocol: UploadProtocol) { self.uploadProtocol = uploadProtocol }

  /// - Throws: a refusal of invalid options.
  func check() throws(TransportError) {
    if let bytesPerAppend, bytesPerAppend < 1 {
      throw .refused(
        .invalidOption, "bytesPerAppend is \(bytesPerAppend), below the minimum of 1", hint: "give 1 or more")
    }
    if sendsDigests, uploadProtocol == .tus {
      throw .refused(
        .invalidOption, "sendsDigests cannot be used with tus", hint: "use the draft, or have the server check the file"
      )
    }
    for name in metadata.keys where name.isEmpty || name.utf8.contains(where: { $0 <= 0x20 || $0 > 0x7E || $0 == 0x2C })
    {
      throw .refused(
        .invalidOption, "\"\(name.prefix(40).escapedForDisplay)\" cannot be a name of Upload-Metadata",
        hint: "write ASCII without spaces and commas")
    }
  }
}

/// A token by which another process can resume an upload. It contains no credentials, unless its URL is one.
public struct UploadToken: Sendable, Hashable, Codable {
  /// The URL of the upload.
  package var url: String
  /// The protocol of the upload.
  package var uploadProtocol: UploadProtocol
  /// The length of the file in bytes.
  package var length: Int64
  /// The time of the file's last change, in nanoseconds since 1970: a file that has changed since is refused.
  package var modified: Int64
}
