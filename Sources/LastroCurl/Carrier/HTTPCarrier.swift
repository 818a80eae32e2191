// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
  internal import Glibc
#endif

/// What speaks HTTP over the engine's connections, all of which libcurl opens.
public enum HTTPCarrier: String, Sendable, CaseIterable {
  /// Lastro's own HTTP/1.1 and HTTP/2, over connections that libcurl opened. Inspections of a host's certificate chain,
  /// which send no request, are libcurl's transfers.
  case direct
  /// libcurl's own transfers: libcurl writes requests and reads answers.
  case transfer

  /// What carries HTTP unless a configuration says otherwise: what the environment variable `LASTRO_CARRIER` names
  /// (`direct` or `transfer`) when it is first asked for, else ``direct``.
  ///
  /// The variable is a way out for operators: a service that meets a server which one carrier does not get along with
  /// can be moved to the other without being built again. A value that names neither changes nothing.
  public static let standard = getenv("LASTRO_CARRIER").flatMap { Self(rawValue: String(cString: $0)) } ?? .direct
}
