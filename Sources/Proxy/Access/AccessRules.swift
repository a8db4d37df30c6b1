// Who may use the proxy and where it may connect to (design: rule 10).

import Configuration
import EventLoop

/// The access rules of the settings, ready to be asked.
final class AccessRules: Sendable {
  private let clientNetworks: [AddressBlock]
  private let deniedNetworks: [AddressBlock]
  private let connectPorts: Set<UInt16>
  private let allowsLoopback: Bool
  private let allowsLinkLocal: Bool
  private let allowsOwn: Bool
  private let own: Set<[UInt8]>

  init(_ settings: Settings) {
    clientNetworks = settings.access.clientNetworks
    deniedNetworks = settings.access.deniedNetworks
    connectPorts = Set(settings.tunnels.connectPorts)
    allowsLoopback = settings.allows(settings.access.allowLoopback)
    allowsLinkLocal = settings.allows(settings.access.allowLinkLocal)
    allowsOwn = settings.allows(settings.access.allowOwn)
    own = Set(SocketAddress.ownAddresses().map(\.addressBytes))
  }

  /// Why a client may not use the proxy, in words; nil where it may.
  func refusal(ofClient client: SocketAddress) -> String? {
    let bytes = client.addressBytes
    if clientNetworks.contains(where: { $0.contains(bytes) }) { return nil }
    return "clients at \(client.ip) may not use this proxy (setting access.client_networks)"
  }

  /// Why an address, known after resolution, may not be connected to, in words; nil where it may.
  func refusal(ofDestination destination: SocketAddress) -> String? {
    let bytes = destination.addressBytes
    if let denied = deniedNetworks.first(where: { $0.contains(bytes) }) {
      return "the destination \(destination.ip) is in \(denied) (setting access.denied_networks)"
    }
    if destination.isUnspecified || destination.isMulticast {
      return "the destination \(destination.ip) is not the address of a host"
    }
    if destination.isLoopback {
      return allowsLoopback ? nil : "the destination \(destination.ip) is on loopback (setting access.allow_loopback)"
    }
    if destination.isLinkLocal, !allowsLinkLocal {
      return "the destination \(destination.ip) is link-local (setting access.allow_link_local)"
    }
    if own.contains(bytes), !allowsOwn {
      return "the destination \(destination.ip) is this machine itself (setting access.allow_own)"
    }
    return nil
  }

  /// Why CONNECT may not reach a port, in words; nil where it may.
  func refusal(ofConnectPort port: UInt16) -> String? {
    connectPorts.contains(port)
      ? nil : "CONNECT to port \(port) is not allowed (setting tunnels.connect_ports)"
  }
}
