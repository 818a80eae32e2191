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
    func has(_ feature: Int) -> Bool { Int(info.features) & feature != 0 }
    return CurlCapabilities(
      curlVersion: String(cString: info.version), tlsBackend: info.ssl_version.map { String(cString: $0) } ?? "none",
      openSSLVersion: String(cString: clastro_openssl_version()), http2: has(CLASTRO_FEATURE_HTTP2),
      http3: has(CLASTRO_FEATURE_HTTP3), gzip: has(CLASTRO_FEATURE_LIBZ), brotli: has(CLASTRO_FEATURE_BROTLI),
      zstd: has(CLASTRO_FEATURE_ZSTD), internationalNames: has(CLASTRO_FEATURE_IDN),
      unixSockets: has(CLASTRO_FEATURE_UNIX_SOCKETS), asynchronousDNS: has(CLASTRO_FEATURE_ASYNCHDNS),
      ipv6: has(CLASTRO_FEATURE_IPV6), httpsProxy: has(CLASTRO_FEATURE_HTTPS_PROXY),
      threadSafeInit: has(CLASTRO_FEATURE_THREADSAFE), caFile: RootFiles.systemFile)
  }()
}
