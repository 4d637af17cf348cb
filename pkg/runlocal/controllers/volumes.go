package controllers

// volumes bind volumes to claims and keep both while they are used.
func volumes() []Controller {
	return []Controller{
		volumeBinder(), ephemeralVolumes(), claimProtection(), volumeProtection(), attributesClassProtection(), volumeExpander(),
	}
}
