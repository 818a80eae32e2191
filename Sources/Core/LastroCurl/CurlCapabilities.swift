// SPDX-License-Identifier: Apache-2.0

internal import CLastro

/// The capabilities of the linked libcurl and OpenSSL (`curl_version_info`), determined at run time.
public struct CurlCapabilities: Sendable, Hashable {
  /// The version of libcurl, such as `7.88.1`.
  public var curlVersion: String
  /// libcurl's TLS backend, such as `OpenSSL/3.0.17`.
  public var tlsBackend: String
  /// The version of the OpenSSL that is linked here.
  package var openSSLVersion: String
  /// Whether libcurl supports HTTP/2 through nghttp2.
  public var http2: Bool
  /// Whether libcurl supports HTTP/3.
  package var http3: Bool
  /// Whether libcurl supports gzip and deflate. Lastro decodes both itself in any case.
  package var gzip: Bool
  /// Whether libcurl supports Brotli, which Lastro does not use.
  package var brotli: Bool
  /// Whether libcurl supports Zstandard, which Lastro does not use.
  package var zstd: Bool
  /// Whether libcurl supports internationalised names through libidn2.
  package var internationalNames: Bool
  /// Whether libcurl supports Unix sockets.
  package var unixSockets: Bool
  /// Whether libcurl resolves names without blocking (with threads or c-ares).
  package var asynchronousDNS: Bool
  /// Whether libcurl supports IPv6.
  package var ipv6: Bool
  /// Whether libcurl supports HTTPS proxies.
  package var httpsProxy: Bool
  /// Whether `curl_global_init` may be called from any thread.
  package var threadSafeInit: Bool
  /// The file of trusted roots that is used; `nil` if none was found.
  package var caFile: String?

  /// The capabilities of the libraries that are linked now.
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
