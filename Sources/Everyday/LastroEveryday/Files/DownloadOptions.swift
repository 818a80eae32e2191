// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// The options of a download to a file.
///
/// ```swift
/// var options = DownloadOptions()
/// options.replaces = true
/// options.sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
/// let file = try await stack.download(.get("https://example.org/image.iso"), to: "/srv/image.iso", options: options)
/// ```
public struct DownloadOptions: Sendable {
  /// Whether the download resumes an interrupted download of the same resource to the same path, even of another
  /// process, and keeps its own bytes if it is interrupted. Default true.
  ///
  /// A download starts over anyway if nothing proves that the rest belongs to the bytes on disk. This is so without a
  /// strong `ETag` or a usable `Last-Modified`, which must be at least a second older than `Date` (RFC 9110 §8.8.2.2,
  /// §13.1.5), or 60 s older than the time of receipt if there is no `Date` (§6.6.1). It is also so if the server sends
  /// `Accept-Ranges: none`, or the body has a content coding that was not requested. ``DownloadedFile/resumeObstacle``
  /// names the reason.
  ///
  /// If the server's response to a range is unusable, the whole file is requested, once per call. The bytes on disk are
  /// kept until the server sends the whole file.
  public var resumes = true
  /// The maximum number of times that the download starts over because the file has changed: the server's
  /// representation differs from that of the bytes on disk, or the server sends or serves only the whole file when the
  /// rest is requested. Default 3. After the last of them, and with 0 at once, a change fails the download with
  /// `resume_mismatch`, and the received bytes are removed.
  public var maximumRestarts = 3
  /// The SHA-256 digest (FIPS 180-4) that the file must have: 64 hexadecimal digits of either case. Any other text
  /// fails the transfer before a request is sent. Default `nil`: the digest in the server's `Repr-Digest` (RFC 9530),
  /// if it sends one, unless ``sha512`` is set.
  public var sha256: String?
  /// The SHA-512 digest (FIPS 180-4) that the file must have: 128 hexadecimal digits of either case, as for ``sha256``.
  /// Default `nil`.
  public var sha512: String?
  /// The number of segments downloaded at the same time, from 1 to 4. Default 1.
  ///
  /// More segments help if a server limits the speed of each connection; over HTTP/2 all share one connection, and
  /// nothing is gained. Several segments require ``resumes``, a server with ranges and a strong `ETag`, and a file of
  /// at least 64 MiB; otherwise one request is used.
  public var segments = 1
  /// Whether an existing file at the path is replaced, atomically, once the download is complete. Default false: then
  /// the download fails with `file_exists` before a request is sent.
  public var replaces = false
  /// The maximum size of the file in bytes. Default `nil`: no limit.
  public var maximumBytes: Int64?
  /// A name for the downloaded resource, by which another process can resume the download, instead of its URL: for URLs
  /// that contain a signature and so differ each time. Default `nil`: the URL is the name.
  public var identity: String?
  /// The policy that decides whether to send another request after a loss. It gets the consecutive losses since the
  /// last progress: each byte received resets their count. Default: the standard policy, which retries twice.
  ///
  /// The policy also retries requests that fail before their response, as an interceptor `.retry(policy)` of the
  /// resource does.
  public var retries: HTTPRetryPolicy = .standard
  /// A reporter of the number of bytes on disk and of the file's length; the count includes the bytes of a resumed
  /// download. Default `nil`.
  public var progress: TransferProgressReporter?

  /// The clock for waits and syncs, which is the stack's.
  var timeSource: TimeSource = .continuous
  /// The file system.
  var files: any FileLayer = SystemFiles()
  /// The minimum size of a segment. Files smaller than four times this size are downloaded by one request.
  var leastSegmentBytes: Int64 = 16 << 20
  /// The number of written bytes after which the file is synced.
  var bytesPerSync: Int64 = 16 << 20

  /// Creates the default options.
  public init() {}

  /// - Throws: a refusal of invalid options.
  func check() throws(TransportError) {
    guard maximumRestarts >= 0 else {
      throw .refused(
        .invalidOption, "maximumRestarts is \(maximumRestarts), below the minimum of 0", hint: "give 0 or more")
    }
    guard (1...4).contains(segments) else {
      throw .refused(
        .invalidOption, "\(segments) segments are out of range (1…4)", hint: "1 is right for most servers")
    }
    if let maximumBytes, maximumBytes < 0 {
      throw .refused(.invalidOption, "maximumBytes is \(maximumBytes), below the minimum of 0", hint: "give 0 or more")
    }
    _ = try digests()
  }

  /// Returns the digests that the caller expects.
  ///
  /// - Throws: a refusal of text that is not a digest.
  func digests() throws(TransportError) -> [Digest] {
    var digests: [Digest] = []
    for (algorithm, text) in [(HashAlgorithm.sha256, sha256), (.sha512, sha512)] {
      if let text { digests.append(try Digest(algorithm, hexadecimal: text)) }
    }
    return digests
  }
}
