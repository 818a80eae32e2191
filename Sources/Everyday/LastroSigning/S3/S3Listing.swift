// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro

/// A page of the objects in a bucket (`ListObjectsV2`).
public struct S3Listing: Sendable, Hashable {
  /// An object in a bucket.
  public struct Object: Sendable, Hashable {
    /// The key.
    public let key: String
    /// The size in bytes.
    public let size: Int64
    /// The entity tag, with its quotation marks.
    public let eTag: String
  }

  /// The objects of this page, in the order of their keys.
  public let objects: [Object]
  /// The prefixes up to the request's `delimiter`, as folders.
  public let prefixes: [String]
  /// The `continuation-token` of the next page; `nil` on the last one.
  public let nextToken: String?
}

extension ModelDecoding where T == S3Listing, Payload == Data, Metadata == ResourceResponse {
  /// A decoding of `ListObjectsV2`.
  public static var s3Listing: Self {
    s3 { root in
      guard root.name == "ListBucketResult" else { return nil }
      return S3Listing(
        objects: root.all("Contents").compactMap { object in
          guard let key = object["Key"], let size = object["Size"].flatMap({ Int64($0) }) else { return nil }
          return S3Listing.Object(key: key, size: size, eTag: object["ETag"] ?? "")
        },
        prefixes: root.all("CommonPrefixes").compactMap { $0["Prefix"] },
        nextToken: root["IsTruncated"] == "true" ? root["NextContinuationToken"] : nil)
    }
  }
}
