// SPDX-License-Identifier: Apache-2.0

internal import CLastro

/// What the linked libcurl and OpenSSL can do (`curl_version_info`), found at run time.
public struct CurlCapabilities: Sendable, Hashable, Codable {
  /// Version of libcurl, such as `7.88.1`.
  public var curlVersion: String
  /// libcurl's TLS backend, such as `OpenSSL/3.0.17`.
  public var tlsBackend: String
  /// Version of the OpenSSL linked here.
  public var openSSLVersion: String
  /// HTTP/2 through nghttp2.
  public var http2: Bool
  /// HTTP/3.
  public var http3: Bool
  /// gzip and deflate in libcurl. Lastro undoes both by itself, with or without.
  public var gzip: Bool
  /// Brotli in libcurl, which Lastro does not use.
  public var brotli: Bool
  /// Zstandard in libcurl, which Lastro does not use.
  public var zstd: Bool
  /// Internationalised names through libidn2.
  public var internationalNames: Bool
  /// Unix sockets.
  public var unixSockets: Bool
  /// Name resolution that does not block (threads or c-ares).
  public var asynchronousDNS: Bool
  /// IPv6.
  public var ipv6: Bool
  /// HTTPS proxies.
  public var httpsProxy: Bool
  /// `curl_global_init` may be called from any thread.
  public var threadSafeInit: Bool
  /// File of trusted roots that is used; `nil` when none was found.
  public var caFile: String?

  /// What is linked now.
  public static let current: CurlCapabilities = {
    let info = clastro_version().pointee
    let bits = Int(info.features)
    func has(_ bit: Int) -> Bool { bits & (1 << bit) != 0 }
    return CurlCapabilities(
      curlVersion: String(cString: info.version), tlsBackend: info.ssl_version.map { String(cString: $0) } ?? "none",
      openSSLVersion: String(cString: clastro_openssl_version()), http2: has(16), http3: has(25), gzip: has(3),
      brotli: has(23), zstd: has(26), internationalNames: has(10), unixSockets: has(19), asynchronousDNS: has(7),
      ipv6: has(0), httpsProxy: has(21), threadSafeInit: has(30), caFile: RootFiles.systemFile)
  }()
}
