// SPDX-License-Identifier: Apache-2.0

/// The effects of an error reply.
enum RedisRefusal: Sendable, Hashable {
  /// The server cannot serve now, and another one of the list may: it loads its data, or is a replica.
  case otherServer
  /// The server does not know the script.
  case unknownScript
  /// The connection may not be used without a password.
  case unauthenticated
  case final

  init(_ text: String) {
    switch text.prefix(while: { $0 != " " }) {
    case "LOADING", "READONLY", "MASTERDOWN", "NOREPLICAS": self = .otherServer
    case "NOSCRIPT": self = .unknownScript
    case "NOAUTH", "WRONGPASS": self = .unauthenticated
    default: self = .final
    }
  }
}

extension FleetStoreError {
  /// Returns the error for an error reply, or for a server of a kind that its greeting has shown.
  static func refused(by address: RedisAddress, _ text: String) -> Self {
    // A server may quote arguments.
    let kind = text.prefix { $0.isASCII && ($0.isUppercase || $0.isNumber) }.prefix(40)
    let (reason, hint): (String, String?) =
      switch kind {
      case "LOADING": ("it is loading its data", nil)
      case "READONLY": ("it is a read-only replica", "give the address of the primary, or of all servers")
      case "MASTERDOWN": ("it is a replica that has lost its primary", "give the addresses of all servers")
      case "NOREPLICAS": ("it has too few replicas to accept writes", nil)
      case "NOAUTH", "WRONGPASS": ("user or password is missing or wrong", "check the parameters user and password")
      case "NOPERM":
        ("the user may not do this", "allow +eval +evalsha +get +set +time and the keys of the prefix to the user")
      case "OOM": ("its memory is full", "raise maxmemory, or choose a policy that evicts keys")
      case "CLUSTER", "MOVED", "ASK", "CLUSTERDOWN", "CROSSSLOT":
        ("it is part of a cluster, which is not supported", "use a single primary, with replicas and sentinels")
      case "SENTINEL": ("it is a sentinel", "write redis+sentinel://HOST:PORT/NAME")
      case "BUSY": ("it is running another script", nil)
      case "ERR": ("it replied with ERR", "use Redis 7 or newer, or Valkey")
      default: ("it replied with \(kind.isEmpty ? "an error" : String(kind))", nil)
      }
    var error = Self(.refused, "\(address) refused the operation: \(reason)", hint: hint)
    error.concernsOneServer = RedisRefusal(text) == .otherServer
    return error
  }

  /// Returns the error for a reply that has another form than that of Redis 7.
  static func unexpectedReply(of address: RedisAddress) -> Self {
    Self(.invalidReply, "\(address) sent an unexpected reply", hint: "use Redis 7 or newer, or Valkey")
  }
}
