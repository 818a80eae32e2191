// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A downloaded file: it is complete, has its final name, and survives a power loss.
public struct DownloadedFile: Sendable {
  /// The length of the file in bytes.
  public var length: Int64
  /// The digests that the file was checked against, such as `SHA-256 9f86…`. Empty if neither the caller nor the server
  /// supplied one.
  public var verified: [String] = []
  /// The number of bytes that an earlier download had left.
  public var resumedFrom: Int64 = 0
  /// The number of requests of this call that the server responded to: the first one, one after each loss or change of
  /// the file, and one for each segment. Redirects and the attempts of an interceptor count as one request. 0 if the
  /// file was complete already.
  package var requests = 0
  /// The number of restarts because the server's file changed.
  package var restarts = 0
  /// The number of segments that were downloaded at the same time.
  package var segments = 1
  /// The `ETag` of the file, as the server sent it.
  package var entityTag: String?
  /// The content coding of the bytes, such as `gzip`, if the server applied one although none was requested. The bytes
  /// are stored as received.
  package var contentEncoding: String?
  /// The file name that the server offers (`Content-Disposition`, RFC 6266), cleaned: without folders, control
  /// characters and leading dots, at most 255 bytes. The download itself does not use it.
  public var offeredName: String?
  /// The reason why this download could not have been resumed after a loss, such as a weak `ETag`; `nil` if it could
  /// have been.
  public var resumeObstacle: String?
  /// The last response; `nil` if no request was needed.
  public var response: ResourceResponse?
}
